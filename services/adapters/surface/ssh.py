"""Writes `ssh.json`: ssh(1) has no commands, so all of it is declared here, from OpenSSH's manual.

Whatever ssh runs, runs on the other side through that host's shell, rc files and aliases: it is
`write`, and `delete` too where a word says so. Only what surely connects to nothing is `read`.
Run: python services/adapters/surface/ssh.py
"""

from fold import write
from styx_core.tool import Tool
from verbs import words

VALUES = "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w"
# `-P` is in neither list: until OpenSSH 9.4 it took no value, and since then it does.
SWITCHES = "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y"
DELETES = """
rm rmdir unlink shred del delete remove drop dropdb dropuser purge prune destroy uninstall truncate
mkfs wipefs userdel groupdel deluser delgroup terminate flushall flushdb rb FLUSHALL FLUSHDB DROP
DELETE TRUNCATE erase
"""
NOWHERE_ELSE = ("identityfile none", "identityagent none", "forwardagent no")
HARMLESS = """
addressfamily batchmode ciphers compression connectionattempts connecttimeout escapechar
hostkeyalgorithms ipqos kexalgorithms loglevel macs numberofpasswordprompts port requesttty
serveralivecountmax serveraliveinterval tcpkeepalive user
bindaddress identitiesonly passwordauthentication preferredauthentications stricthostkeychecking
userknownhostsfile
"""

if __name__ == "__main__":
    write(
        Tool(
            name="ssh",
            version="9.2p1",
            source="the options of ssh(1) and ssh_config(5)",
            total=1,
            write=("",),
            values=tuple(VALUES.split()),
            switches=tuple(SWITCHES.split()),
            alone=("-V", "-h", "--help"),
            verbs={"delete": tuple(sorted(words(DELETES)))},
            identity=("-F", "-i", "-I", "-J", "-o", "-S", "-A", "-K"),
            harmless={
                "-o": tuple(sorted((*words(HARMLESS), *NOWHERE_ELSE))),
                "-F": ("none",),
            },
        )
    )
