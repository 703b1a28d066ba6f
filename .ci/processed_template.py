"""Looks through the template as CloudFormation sees it, once SAM's transformation has been applied to it.

What a test of template.yaml cannot see is what SAM adds: a role with a managed policy where none is named, a policy for an
event, a permission. Nothing of the kind may come into being, so every resource of the result must stand in the template.

usage: processed_template.py template.yaml
"""

import os
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator


class NoManagedPolicies:
    """Stands for the account's list of managed policies, which nothing here may ask for."""

    def load(self):
        raise SystemExit("processed template: a managed policy is asked for")


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
    if complaints:
        raise SystemExit("processed template: " + "\nprocessed template: ".join(complaints))
    print(f"template: processed by SAM it has the {len(source['Resources'])} resources of the source, and no role, policy or permission more")


main(sys.argv[1])
