"""The variables that lead gcloud, Google's libraries or Terraform elsewhere: a table, no code.

Read from: gcloud's properties (each can be set as CLOUDSDK_SECTION_NAME; release 528.0.0), Google
Auth Library, "How Application Default Credentials works", and Terraform's Google provider.
"""

_SERVICES = (
    "accessapproval", "accesscontextmanager", "ai", "aiplatform", "alloydb", "apigateway",
    "apigee", "apihub", "apikeys", "appengine", "apphub", "artifactregistry", "assuredworkloads",
    "auditmanager", "backupdr", "baremetalsolution", "batch", "beyondcorp", "bigquery",
    "bigquerymigration", "bigtableadmin", "binaryauthorization", "certificatemanager",
    "cloudasset", "cloudbilling", "cloudbuild", "clouddeploy", "clouderrorreporting",
    "cloudfunctions", "cloudidentity", "cloudkms", "cloudquotas", "cloudresourcemanager",
    "cloudscheduler", "cloudtasks", "cloudtrace", "composer", "compute", "config", "container",
    "containeranalysis", "datacatalog", "dataflow", "datafusion", "datamigration",
    "datapipelines", "dataplex", "dataproc", "datastore", "datastream", "deploymentmanager",
    "developerconnect", "discovery", "dns", "domains", "edgecontainer", "edgenetwork", "eventarc",
    "file", "firebasedataconnect", "firestore", "genomics", "gkebackup", "gkehub",
    "gkemulticloud", "gkeonprem", "healthcare", "iam", "iamcredentials", "iap", "ids", "language",
    "lifesciences", "logging", "looker", "lustre", "managedidentities", "managedkafka",
    "memcache", "memorystore", "metastore", "ml", "monitoring", "netapp", "networkconnectivity",
    "networkmanagement", "networksecurity", "networkservices", "notebooks", "ondemandscanning",
    "oracledatabase", "orgpolicy", "osconfig", "oslogin", "parallelstore", "parametermanager",
    "policyanalyzer", "policysimulator", "policytroubleshooter", "privateca",
    "privilegedaccessmanager", "publicca", "pubsub", "pubsublite", "recaptchaenterprise",
    "recommender", "redis", "run", "runtimeconfig", "secretmanager", "securesourcemanager",
    "securitycenter", "securitycentermanagement", "servicedirectory", "servicemanagement",
    "serviceusage", "source", "sourcerepo", "spanner", "speech", "sql", "storage",
    "storagebatchoperations", "storageinsights", "testing", "toolresults", "tpu", "transcoder",
    "transfer", "vision", "vmmigration", "vmwareengine", "vpcaccess", "workflowexecutions",
    "workflows", "workstations",
)  # fmt: skip
"""The services whose address gcloud takes from a variable of its own."""

STRIP = (
    # Other credentials: gcloud's, the client libraries', Terraform's.
    "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "CLOUDSDK_AUTH_AUTHORIZATION_TOKEN_FILE",
    "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", "CLOUDSDK_AUTH_DISABLE_CREDENTIALS",
    "CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT", "CLOUDSDK_AUTH_LOGIN_CONFIG_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON",
    "GCLOUD_KEYFILE_JSON", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_GHA_CREDS_PATH",
    "GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
    "BOTO_CONFIG", "BOTO_PATH",
    # Other accounts and projects.
    "CLOUDSDK_CONFIG", "CLOUDSDK_CORE_ACCOUNT", "CLOUDSDK_CORE_PROJECT",
    "CLOUDSDK_BILLING_QUOTA_PROJECT", "GOOGLE_CLOUD_PROJECT", "GOOGLE_PROJECT",
    "GOOGLE_CLOUD_QUOTA_PROJECT", "GCLOUD_PROJECT",
    # Other places.
    "CLOUDSDK_CORE_UNIVERSE_DOMAIN", "GOOGLE_CLOUD_UNIVERSE_DOMAIN",
    "CLOUDSDK_AUTH_AUTH_HOST", "CLOUDSDK_AUTH_TOKEN_HOST", "CLOUDSDK_AUTH_MTLS_TOKEN_HOST",
    "CLOUDSDK_AUTH_TOKEN_INTROSPECTION_ENDPOINT", "CLOUDSDK_AUTH_DISABLE_SSL_VALIDATION",
    "GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT",
    *(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name.upper()}" for name in _SERVICES),
)  # fmt: skip
