"""Looks through the template as CloudFormation sees it, once SAM's transformation has been applied to it.

What a test of template.yaml cannot see is what SAM adds: a role with a managed policy where none is named, a policy for an
event, a permission. Nothing of the kind may come into being, so every resource of the result must stand in the template. And what
a reviewer asks first holds for the result: no role can delete an object without naming its version or go round Object Lock, no
action and no resource is a wildcard that is not listed here, and the function URL has both permissions that it takes.

usage: processed_template.py template.yaml
"""

import os
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator


# Actions that must not occur, whoever asks. s3:DeleteObject makes deletes without a version id possible.
FORBIDDEN_ACTIONS = {"s3:DeleteObject", "s3:BypassGovernanceRetention", "s3:PutBucketVersioning", "s3:PutObjectRetention",
                     "s3:PutObjectLegalHold", "s3:PutBucketPolicy", "iam:PassRole"}

# Actions for which AWS allows no other resource than *, each with the reason.
ANY_RESOURCE = {
    "xray:PutTelemetryRecords": "X-Ray has no resource that it could be granted for",
    "xray:PutTraceSegments": "X-Ray has no resource that it could be granted for",
}

# Types that can grant something beside the roles' own policies.
GRANTING_TYPES = {"AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::UserPolicy", "AWS::IAM::GroupPolicy", "AWS::IAM::User",
                  "AWS::SQS::QueuePolicy", "AWS::SecretsManager::ResourcePolicy", "AWS::Lambda::LayerVersionPermission"}


class NoManagedPolicies:
    """Stands for the account's list of managed policies, which nothing here may ask for."""

    def get(self, name, *_):
        raise SystemExit(f"processed template: the managed policy {name} is asked for")


def as_list(value):
    return value if isinstance(value, list) else [value]


def branches(value):
    """The value of each branch of a condition, but for AWS::NoValue."""
    if isinstance(value, dict) and set(value) == {"Fn::If"}:
        return [one for branch in value["Fn::If"][1:] for one in branches(branch)]
    return [] if value == {"Ref": "AWS::NoValue"} else [value]


def statements(resources):
    """Every statement of a role's policies, with where it stands."""
    for name, resource in resources.items():
        properties = resource.get("Properties", {})
        documents = []
        if resource["Type"] == "AWS::IAM::Role":
            documents = [policy["PolicyDocument"] for entry in properties.get("Policies", []) for policy in branches(entry)]
        elif resource["Type"] == "AWS::IAM::RolePolicy":
            documents = [properties["PolicyDocument"]]
        for document in documents:
            for statement in as_list(document["Statement"]):
                yield f"{name} {statement.get('Sid', '')}".strip(), statement


def texts(resource):
    """Every text within a resource of a statement, whichever branch of a condition it stands in."""
    if isinstance(resource, str):
        return [resource]
    parts = resource.values() if isinstance(resource, dict) else resource
    return [text for part in parts for text in texts(part)] if isinstance(resource, (dict, list)) else []


def rights(resources):
    """Complaints about what the roles may do."""
    for where, statement in statements(resources):
        if statement["Effect"] != "Allow" or "NotAction" in statement or "NotResource" in statement or "Action" not in statement:
            yield f"{where} does not simply allow what it names"
            continue
        for action in as_list(statement["Action"]):
            if "*" in action or action in FORBIDDEN_ACTIONS or "bypass" in action.lower():
                yield f"{where} allows {action}"
            for resource in as_list(statement["Resource"]):
                if "*" in texts(resource) and action not in ANY_RESOURCE:
                    yield f"{where} allows {action} on every resource"
    for name, resource in resources.items():
        if resource["Type"] in GRANTING_TYPES:
            yield f"{name} is a {resource['Type']}"
        if resource["Type"] == "AWS::S3::BucketPolicy":
            for statement in as_list(resource["Properties"]["PolicyDocument"]["Statement"]):
                if statement["Effect"] != "Deny":
                    yield f"{name} {statement.get('Sid', '')} does more than refuse"


def url_permissions(resources):
    """Complaints about the permissions of the public function URL: exactly these two make it answer, and open nothing else."""
    wanted = [
        {"Action": "lambda:InvokeFunction", "InvokedViaFunctionUrl": True, "Principal": "*"},
        {"Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE", "Principal": "*"},
    ]
    urls = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Lambda::Url"]
    found = [dict(r["Properties"]) for r in resources.values() if r["Type"] == "AWS::Lambda::Permission"]
    functions = [permission.pop("FunctionName", None) for permission in found]
    if sorted(found, key=lambda permission: permission["Action"]) != wanted or functions != [{"Ref": "WebhookFunction"}] * 2:
        yield f"the function URL has other permissions than the two that it takes: {found} of {functions}"
    if [url.get("AuthType") for url in urls] != ["NONE"]:
        yield f"there is not one public function URL, but {urls}"


def main(path):
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    source = yaml_parse(text)
    # SAM names local code by its place in a bucket, which is known after the upload only.
    template = yaml_parse(text)
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/key"
    parameters = {name: p.get("Default", "example") for name, p in source["Parameters"].items()}

    processed = Translator(NoManagedPolicies(), Parser()).translate(template, parameters)

    complaints = [
        f"SAM adds {name} ({resource['Type']})"
        for name, resource in processed["Resources"].items()
        if name not in source["Resources"]
    ]
    for name, resource in processed["Resources"].items():
        if resource["Type"].startswith("AWS::Serverless::"):
            complaints.append(f"{name} is left as {resource['Type']}")
        if resource["Type"] == "AWS::IAM::Role":
            if resource["Properties"] != source["Resources"].get(name, {}).get("Properties"):
                complaints.append(f"{name} is not the role that the template says")
            if resource["Properties"].get("ManagedPolicyArns"):
                complaints.append(f"{name} has managed policies")
        if resource["Type"] == "AWS::Lambda::Function" and "Role" not in resource["Properties"]:
            complaints.append(f"{name} has no role")
    complaints += [*rights(processed["Resources"]), *url_permissions(processed["Resources"])]
    if complaints:
        raise SystemExit("processed template: " + "\nprocessed template: ".join(complaints))
    print(f"template: processed by SAM it has the {len(source['Resources'])} resources of the source, and no role, policy or permission more")
    print(f"template: {len(list(statements(processed['Resources'])))} statements of its roles allow nothing that is forbidden, and the URL has its two permissions")


main(sys.argv[1])
