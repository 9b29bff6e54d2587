#!/usr/bin/env python3
"""Algorithm 1 of the thesis as a program: a link's next request is its part of a
static limit, size = L * r_x / (sum of r). The protocol is in docs/exec-policy.md."""
import json
import sys

LIMIT = 4 << 20  # L in bytes


def rates(links):
    """What each usable link brings now; one that has not been measured, their mean."""
    usable = [l["rate_bytes_per_second"] for l in links if l["usable"]]
    known = [r for r in usable if r > 0]
    total = 0.0
    for r in known:  # sum() rounds in another way from Python 3.12 on
        total += r
    return total + (len(usable) - len(known)) * (total / max(1, len(known))), max(1, len(usable))


def size(question):
    link = question["links"][question["link"]]
    total, usable = rates(question["links"])
    if total <= 0:  # equal shares until the first bytes are measured
        return LIMIT // usable
    rate = link["rate_bytes_per_second"] or total / usable
    share = int(LIMIT * (rate / total))
    return min(share, link.get("endgame_bytes", share))


for line in sys.stdin:
    question = json.loads(line)
    answer = {"id": question["id"]}
    if "protocol" in question:
        answer["protocol"] = 1
    else:
        answer["size_bytes"] = size(question)
    print(json.dumps(answer), flush=True)
