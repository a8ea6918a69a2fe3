"""What a Google Cloud project must be told once, so that it trusts this Styx. A text for a person.

Source: IAM, "Configure Workload Identity Federation with other identity providers". Without another
audience a provider takes tokens for its own resource name, which is what Styx asks for.
"""

PREPARE = """\
gcloud services enable iam.googleapis.com iamcredentials.googleapis.com sts.googleapis.com
gcloud iam workload-identity-pools create agents --location=global
gcloud iam workload-identity-pools providers create-oidc styx --location=global \\
  --workload-identity-pool=agents --issuer-uri=$issuer \\
  --attribute-mapping=google.subject=assertion.sub
# The service account's e-mail and the project's number put in:
gcloud iam service-accounts add-iam-policy-binding SERVICE_ACCOUNT \\
  --role=roles/iam.workloadIdentityUser \\
  --member=principal://iam.googleapis.com/projects/NUMBER/locations/global\\
/workloadIdentityPools/agents/subject/target:$target"""
