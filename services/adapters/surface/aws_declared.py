"""What has to be told of the AWS CLI: its own commands, deploys, and names that IAM spells apart.

Sources: the CLI's own source for what a high-level command calls; the service authorization
reference for which action an S3 operation is authorised by.
"""

from verbs import lines, names

SHADOWED = {("cloudformation", "deploy"), ("ecs", "deploy")}
"""Commands under which the CLI's command table repeats CodeDeploy's; they run by themselves."""

_COMMANDS = {
    "read": lines("""
        s3 ls, configure list, history show, history list, cloudtrail validate-logs
        codecommit credential-helper store, codecommit credential-helper erase
        emr describe-cluster, gamelift get-game-session-log, datapipeline list-runs
        configservice get-status, servicecatalog generate, emr list-instances, emr list-clusters
        logs start-live-tail, configure list-profiles, logs tail, dynamodb transact-get-items
        ddb select, ecs monitor-express-gateway-service
        """),
    "write": lines("""
        s3 cp, s3 sync, s3 mb, s3 website, s3 presign, configure, configure get, configure set
        configure add-model, configure export-credentials, configure import, configure sso
        codecommit credential-helper get, ecr get-login, ecr get-login-password
        ecr-public get-login-password, eks get-token, eks update-kubeconfig
        rds generate-db-auth-token, codeartifact login, cloudfront sign, emr ssh, emr socks
        emr get, emr put, ssm start-session, ecs execute-command, deploy register
        deploy install, cloudformation package, s3api create-session, ec2-instance-connect ssh
        ec2-instance-connect open-tunnel, sso login, sso logout, login, logout, dynamodb wizard
        events wizard, iam wizard, lambda wizard, dsql generate-db-connect-auth-token
        dsql generate-db-connect-admin-auth-token, lambda invoke
        lightsail get-instance-access-details, lightsail download-default-key-pair
        lightsail get-relational-database-master-user-password, acm export-certificate
        bedrock-agentcore get-resource-api-key, transfer test-identity-provider, ddb put
        emr-containers create-role-associations, configure sso-session, configure mfa-login
        """),
    "deploy": lines("cloudformation deploy, ecs deploy, deploy push"),
    "delete": lines("""
        s3 rm, s3 rb, deploy deregister, deploy uninstall, emr terminate-clusters
        emr-containers delete-role-associations
        """),
    "write delete": lines("s3 mv"),
}
COMMANDS = {path: names for names, paths in _COMMANDS.items() for path in paths}
"""Path -> its classes."""
FETCHES = ("s3 cp", "s3 mv", "s3 sync")
"""Commands that read what they send on, whichever way they go."""
DEPLOYS = dict.fromkeys(
    lines("""
        amplify create-deployment, amplify start-deployment, apigateway create-deployment
        apigatewayv2 create-deployment, appconfig start-deployment, apprunner start-deployment
        apprunner update-service, apprunner create-service
        appstream start-software-deployment-to-image-builder, cloudformation create-stack
        cloudformation create-stack-instances, cloudformation create-stack-set
        cloudformation execute-change-set, cloudformation rollback-stack
        cloudformation update-stack, cloudformation update-stack-instances
        cloudformation update-stack-set, cloudfront publish-function
        cloudfront publish-connection-function, codepipeline start-pipeline-execution
        deploy create-deployment, deploy continue-deployment, ecs continue-service-deployment
        ecs create-service, ecs update-service, ecs update-express-gateway-service
        ecs create-express-gateway-service, ecs update-service-primary-task-set
        ecs create-task-set, elasticbeanstalk update-environment
        elasticbeanstalk create-environment, greengrass create-deployment
        greengrass start-bulk-deployment, greengrassv2 create-deployment, lambda create-function
        lambda update-alias, lambda update-function-code, lambda publish-version
        lambda publish-layer-version, lambda create-alias, launch-wizard create-deployment
        launch-wizard update-deployment, lightsail create-container-service-deployment
        m2 create-deployment, medialive start-monitor-deployment, proton update-service
        proton update-service-pipeline, proton update-service-instance
        proton update-environment, rds switchover-blue-green-deployment
        sagemaker start-edge-deployment-stage, sagemaker update-endpoint
        sagemaker create-endpoint, servicecatalog provision-product
        servicecatalog update-provisioned-product, stepfunctions publish-state-machine-version
        robomaker create-deployment-job, amplify start-job
        """),
    "deploy",
)
MINTS = lines("""
    configure get, configure set, configure export-credentials, codecommit credential-helper get
    ecr get-login, ecr get-login-password, ecr-public get-login-password, eks get-token
    eks update-kubeconfig, rds generate-db-auth-token, codeartifact login, cloudfront sign
    s3 presign, iam create-access-key, iam create-login-profile, iam update-login-profile
    iam create-service-specific-credential, iam reset-service-specific-credential
    iam upload-ssh-public-key, iam upload-signing-certificate, deploy register
    s3api create-session, lightsail get-instance-access-details
    lightsail download-default-key-pair, lightsail get-relational-database-master-user-password
    acm export-certificate, bedrock-agentcore get-resource-api-key, ssm create-activation
    """)
PREFIXES = {"apigatewayv2": "apigateway", "s3control": "s3", "lambda": "lambda"}
ACTIONS = {
    "s3:HeadObject": "GetObject",
    "s3:HeadBucket": "ListBucket",
    "s3:ListObjects": "ListBucket",
    "s3:ListObjectsV2": "ListBucket",
    "s3:ListObjectVersions": "ListBucketVersions",
    "s3:DeleteObjects": "DeleteObject",
    "s3:CopyObject": "PutObject",
    "s3:CreateMultipartUpload": "PutObject",
    "s3:UploadPart": "PutObject",
    "s3:UploadPartCopy": "PutObject",
    "s3:CompleteMultipartUpload": "PutObject",
    "s3:SelectObjectContent": "GetObject",
    "s3:ListBuckets": "ListAllMyBuckets",
    "s3:ListParts": "ListMultipartUploadParts",
    "s3:ListMultipartUploads": "ListBucketMultipartUploads",
    "lambda:Invoke": "InvokeFunction",
    "lambda:InvokeAsync": "InvokeFunction",
}
OWN_ACTIONS = {
    "s3 rm": "DeleteObject",
    "s3 mb": "CreateBucket",
    "s3 website": "PutBucketWebsite",
    "ssm start-session": "StartSession",
    "lambda invoke": "InvokeFunction",
    "ecs execute-command": "ExecuteCommand",
    "ecr get-login-password": "GetAuthorizationToken",
    "dynamodb transact-get-items": "GetItem",
}
"""Commands that the CLI makes of just one action; `s3 rb --force` and the like need several."""
SURFACES = {"s3api": "s3"}
GLOBAL_VALUES = names("""
    --endpoint-url --output --query --profile --region --color --ca-bundle --cli-read-timeout
    --cli-connect-timeout --cli-binary-format --cli-error-format
    """)
GLOBAL_SWITCHES = names("""
    --debug --no-verify-ssl --no-paginate --version --no-sign-request --v2-debug --no-cli-pager
    --cli-auto-prompt --no-cli-auto-prompt --help
    """)
