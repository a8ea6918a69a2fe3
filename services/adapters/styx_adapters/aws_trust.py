"""What an AWS account must be told once, so that a role trusts this Styx. A text for a person.

Source: IAM User Guide, "Creating a role for OpenID Connect federation".
"""

PREPARE = """\
# In IAM, an identity provider of type OpenID Connect: URL $issuer, audience sts.amazonaws.com
# The role's trust policy (put the account's number in):
{
  "Version": "2012-10-17",
  "Statement": [{
    "Effect": "Allow",
    "Principal": {"Federated": "arn:aws:iam::ACCOUNT:oidc-provider/$issuer_host"},
    "Action": "sts:AssumeRoleWithWebIdentity",
    "Condition": {"StringEquals": {
      "$issuer_host:aud": "sts.amazonaws.com",
      "$issuer_host:sub": "target:$target"
    }}
  }]
}"""
