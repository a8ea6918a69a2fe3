"""An agent that does what a test says: orders come as JSON lines on stdin, answers go to stdout.

`{"id", "words", "env", "cwd"}` runs a command as the agent's shell would; many run side by side.
The first line it writes, and every answer, holds its environment, which is what an agent can see.
"""

import json
import os
import subprocess
import sys
import threading

SPEAKING = threading.Lock()


def tell(**facts: object) -> None:
    with SPEAKING:
        print(json.dumps({**facts, "environ": dict(os.environ)}), flush=True)


def obey(order: dict[str, object]) -> None:
    words, env = order["words"], order["env"]
    assert isinstance(words, list)
    assert isinstance(env, dict)
    done = subprocess.run(
        words, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    tell(id=order["id"], code=done.returncode, out=out, err=err)


def main() -> None:
    tell(id=0)
    working = []
    for line in sys.stdin:
        working.append(threading.Thread(target=obey, args=(json.loads(line),)))
        working[-1].start()
    for each in working:
        each.join()


if __name__ == "__main__":
    main()
