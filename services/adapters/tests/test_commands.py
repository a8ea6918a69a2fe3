"""The command data that ships: what each CLI's kinds of calls need, and that it fits the catalog.

`STYX_CASES` may name a folder of ground truth (`<tool>*.jsonl` of `{argv, truth, accept}`); it is
scored too, and the test is skipped, with that reason, where it isn't set.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.commands.coverage import counted, coverage
from styx_adapters.commands.load import names, tool
from styx_core.classify import classify
from styx_core.classify_tree import unfold_all
from styx_core.scope import Scope
from styx_core.tool import Tool

CASES = {
    "aws": """
        s3 ls s3://b => read | s3 rm s3://b/k => delete | s3 rb s3://b --force => delete
        s3 mv s3://b/k s3://c/k => read write delete | s3 sync . s3://b => read write
        s3 sync . s3://b --del => read write delete | s3 cp a s3://b => read write
        s3 presign x => write
        ec2 describe-instances => read | ec2 terminate-instances --instance-ids i => delete
        --reg us-east-1 s3 rm s3://b/k => delete | s3 --region x rm s3://b/k => delete
        -- s3 rm s3://b/k => delete | --profile prod s3 ls => read | --frob s3 ls => all
        sts assume-role --role-arn x => write | iam create-access-key => write | help => read
        configure export-credentials => write | configure get region => write | --version => read
        kms schedule-key-deletion --key-id k => delete | ec2 wait instance-terminated => read
        lambda update-function-code => deploy | cloudformation deploy => deploy | frob => write
        dynamodb delete-table help --table-name t => delete | s3 rm help => read
        ec2 terminate-instances --instance-ids i help => delete | sqs purge-queue => delete
        stepfunctions get-activity-task => write | ec2 DESCRIBE-INSTANCES => write
        secretsmanager get-secret-value => read | eks get-token => write | ec2 get => write
        """,
    "gcloud": """
        compute instances list => read | compute instances delete vm => delete
        beta run deploy s => deploy | --project p --quiet projects delete p => delete
        app deploy --version v1 => deploy | app instances delete i --version v1 => delete
        pubsub topics delete help => delete | pubsub topics delete t --help => read
        pubsub topics delete -- --help => delete | auth print-access-token => write
        config config-helper => write | storage rsync a gs://b => write
        storage rsync a gs://b --delete-unmatched-destination-objects => write delete
        compute ssh vm -- --help => write | container clusters delete list => delete
        compute frob list => write | --frob compute instances list => all | list => write
        projects get-iam-policy p => read | projects set-iam-policy p f => write
        """,
    "gh": """
        pr list => read | pr => read | pr merge 1 -d => write delete | agent-task list => read
        pr close 1 -dc x => write delete | api repos/o/r => read | api -X DELETE r => delete
        -XDELETE api r => delete | pr close 1 -db => write delete
        api -iXDELETE r => delete | api r -f a=b => write | api r --input=- => write
        repo delete o/r --yes => delete | -R o/r issue delete 1 => delete | repo ls => read
        auth token => write | auth token -h github.com => write | auth status => read
        auth status -t => write | config get -h github.com oauth_token => write
        pr close 1 -c --help => write | pr close 1 --help => read | evil --help => write
        ext exec evil --help => write | repo edit o/r -h x => write | cs delete => delete
        help => read | help pr => read | help evil => write | project close 1 -h => write
        workflow run x --ref --help => write | secret remove X => delete | --version => read
        """,
    "ssh": """
        host => write | host ls => write | host rm -rf x => write delete | -V => read
        -p 22 host rm x => write delete | host -- --help => write | -o ProxyCommand=x h => write
        -z host => all | host "ls;rm" => write delete | => write | -N -L 1:h:2 h => write
        """,
    "supabase": """
        projects list => read | projects delete x => delete | -ojson projects delete x => delete
        --workdir . db reset --linked => delete | db push => deploy | db query x => write
        functions deploy --prune => deploy delete | migrations list => read | => read
        projects delete x --help => read | --workdir --help projects delete x => delete
        projects delete help => delete | --foo projects list => all | secrets unset A => delete
        gen bearer-jwt => write | inspect db locks => read | login --token x => write
        """,
    "vercel": """
        => deploy | . => write deploy | ls => read | rm p -y => delete | alias a b => write
        --token ls rm p => delete | -- rm p => delete | --yes rm p => delete | --prod => deploy
        help rm --yes -- p => delete | help rm => read | --version rm p -y => delete
        rm -- --help => delete | rm p --help => read | env pull => read | tokens create x => write
        api /v2/user => read | api /v2/x -X delete => delete | api /v2/x -f a=b => write
        projects checks x => read | project checks remove c => delete | frob => write deploy
        project protection enable p => write | LS => write deploy | --frob ls => all
        curl / -- --help => write | global-config backups s --restore v => write
        """,
}


def cases() -> Iterator[tuple[str, str, str]]:
    for name, text in CASES.items():
        for case in text.replace("\n", "|").split("|"):
            if case.strip():
                argv, _, needs = f" {case.strip()}".partition("=> ")
                yield name, argv.strip(), needs.replace("all", "write deploy delete")


@pytest.mark.parametrize(("name", "argv", "needs"), cases())
def test_kinds_of_calls(name: str, argv: str, needs: str) -> None:
    words = [word.strip('"') for word in argv.split()]
    assert {scope.value for scope in classify(tool(name), words).scopes} == set(needs.split())


def test_every_tool_of_the_six_is_known() -> None:
    assert names() == ("aws", "gcloud", "gh", "ssh", "supabase", "vercel")
    with pytest.raises(KeyError):
        tool("nosuch")


@pytest.mark.parametrize("name", names())
def test_a_tool_fits_one_value_of_the_catalog(name: str) -> None:
    assert len(tool(name).to_json().encode()) < 400_000
    assert Tool.from_json(tool(name).to_json()) == tool(name)


@pytest.mark.parametrize("name", names())
def test_every_known_delete_asks_for_delete_however_it_is_called(name: str) -> None:
    known = tool(name)
    for path in unfold_all(known.delete):
        for argv in (path.split(), ["--", *path.split()], [*path.split(), "list", "--frob"]):
            assert Scope.DELETE in classify(known, argv).scopes, argv


@pytest.mark.parametrize("name", names())
def test_what_mints_a_credential_is_told(name: str) -> None:
    for path in unfold_all(tool(name).mints):
        assert classify(tool(name), path.split()).mints, path


@given(st.sampled_from(names()), st.lists(st.text(max_size=10), max_size=5))
def test_any_vector_is_answered(name: str, argv: list[str]) -> None:
    assert classify(tool(name), argv).scopes


@given(st.sampled_from(names()), st.from_regex(r"--[a-z]{12}", fullmatch=True))
def test_an_unknown_leading_flag_needs_everything_but_read(name: str, flag: str) -> None:
    argv = [flag, *unfold_all(tool(name).delete or ("host",))[0].split()]
    assert classify(tool(name), argv).scopes == {Scope.WRITE, Scope.DEPLOY, Scope.DELETE}


def test_aws_operations_carry_their_iam_names() -> None:
    named = {
        "s3api delete-object": "s3:DeleteObject",
        "s3api list-objects-v2": "s3:listbucket",
        "s3 rm": "s3:DeleteObject",
        "elbv2 describe-load-balancers": "elasticloadbalancing:DescribeLoadBalancers",
        "rds describe-db-instances": "rds:DescribeDbInstances",
        "s3 sync": None,
    }
    found = {path: classify(tool("aws"), path.split()).operation for path in named}
    assert {p: a and a.lower() for p, a in found.items()} == {
        p: a and a.lower() for p, a in named.items()
    }


def test_coverage_counts_what_ships() -> None:
    table = coverage()
    assert table.count("\n") == 2 + len(names())
    for name in names():
        known = tool(name)
        assert f"| {name} | {known.version} |" in table
        assert sum(counted(known).values()) >= known.total > 0


@pytest.mark.skipif("STYX_CASES" not in os.environ, reason="STYX_CASES names no ground truth")
@pytest.mark.parametrize("name", names())
def test_ground_truth(name: str) -> None:
    rows = [
        json.loads(line)
        for file in Path(os.environ["STYX_CASES"]).glob(f"{name}*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    stricter, hard, wrong = 0, 0, 0
    for row in rows:
        got = {scope.value for scope in classify(tool(name), row["argv"]).scopes} - {"read"}
        fine = [set(right) - {"read"} for right in (row["truth"], *row.get("accept", []))]
        assert any(right <= got for right in fine), row["argv"]
        stricter += got not in fine
        hard += bool(row.get("hard"))
        wrong += bool(row.get("hard")) and got not in fine
    assert rows, "the folder holds no cases for this tool"
    assert stricter <= 0.02 * len(rows)
    assert wrong <= max(5, 0.01 * hard)
