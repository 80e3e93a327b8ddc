#!/usr/bin/env python3
"""Every fault of a consumer's configuration alone and paired with every other: ternd tells what nats-server tells.

    consumer_faults.py TERND NATS_SERVER
"""
import itertools, sys

from two_servers import Server

SECOND = 10**9
STREAM = {"name": "S", "subjects": ["s.>"], "retention": "workqueue",
          "consumer_limits": {"max_ack_pending": 20, "inactive_threshold": 60 * SECOND}}
# What each adds to a durable pull consumer with explicit acks.
FAULTS = {
    "many replicas": {"num_replicas": 5}, "negative replicas": {"num_replicas": -1},
    "negative backoff": {"backoff": [-1]}, "negative ack wait": {"ack_wait": -1},
    "longer backoff than deliveries": {"backoff": [SECOND] * 3, "max_deliver": 2},
    "long description": {"description": "x" * 4097}, "name with a dot": {"name": "z.z", "durable_name": ""},
    "wildcard deliver subject": {"deliver_subject": "d.*"}, "bad deliver subject": {"deliver_subject": "d..x"},
    "deliver cycle": {"deliver_subject": "s.a"}, "push with max waiting": {"deliver_subject": "d.x", "max_waiting": 5},
    "push without acks but a limit": {"deliver_subject": "d.x", "ack_policy": "none", "max_ack_pending": 3},
    "short heartbeat": {"deliver_subject": "d.x", "idle_heartbeat": 1},
    "flow control without heartbeat": {"deliver_subject": "d.x", "flow_control": True},
    "pull with a rate": {"rate_limit_bps": 5}, "pull with heartbeat": {"idle_heartbeat": SECOND},
    "pull with flow control": {"flow_control": True}, "short max expires": {"max_expires": 1},
    "direct pull": {"direct": True}, "direct durable": {"direct": True, "deliver_subject": "d.x", "durable_name": "c1"},
    "both filters": {"filter_subject": "s.a", "filter_subjects": ["s.b"]}, "empty filter": {"filter_subjects": ["s.a", ""]},
    "overlapping filters": {"filter_subjects": ["s.a", "s.a"]}, "bad filter": {"filter_subject": "s..a"},
    "bad filter in a list": {"filter_subjects": ["s..x"]}, "start sequence": {"opt_start_seq": 5},
    "start time": {"opt_start_time": "2020-01-01T00:00:00Z"}, "no filter": {"deliver_policy": "last_per_subject"},
    "no start sequence": {"deliver_policy": "by_start_sequence"}, "sampling": {"sample_freq": "x"},
    "flow acks on pull": {"ack_policy": "flow_control"},
    "flow acks with ack wait": {"ack_policy": "flow_control", "deliver_subject": "d.x", "ack_wait": SECOND},
    "flow acks with max deliver": {"ack_policy": "flow_control", "deliver_subject": "d.x", "max_deliver": 3},
    "flow acks without limit": {"ack_policy": "flow_control", "deliver_subject": "d.x", "max_ack_pending": -1},
    "work queue without acks": {"ack_policy": "none"}, "work queue with ack all": {"ack_policy": "all"},
    "work queue from the last": {"deliver_policy": "last"}, "pending above the limit": {"max_ack_pending": 50},
    "threshold above the limit": {"inactive_threshold": 600 * SECOND}, "much metadata": {"metadata": {"a": "x" * 140000}},
    "groups without policy": {"priority_groups": ["g"]}, "pin timeout without policy": {"priority_timeout": SECOND},
    "push with groups": {"deliver_subject": "d.x", "priority_policy": "overflow", "priority_groups": ["g"]},
    "policy without group": {"priority_policy": "overflow"},
    "empty group": {"priority_policy": "overflow", "priority_groups": [""]},
    "bad group": {"priority_policy": "overflow", "priority_groups": ["a b"]},
    "null policy": {"deliver_policy": None}, "null in a list": {"filter_subjects": [None]},
}


def merged(left, right):
    """Both faults at once; None when they contradict each other."""
    if any(left[key] != right[key] for key in left.keys() & right.keys()):
        return None
    return {"durable_name": "c1", "ack_policy": "explicit"} | left | right


def outcome(server, stream, config, pedantic):
    named = f"CONSUMER.CREATE.{stream}" + ("" if "name" in config else ".c1")
    answer = server.connection.api(named, {"stream_name": stream, "config": config, "pedantic": pedantic})
    error = answer.get("error")
    if error is None:
        server.connection.api(f"CONSUMER.DELETE.{stream}.{answer['name']}")
    return (error["code"], error["err_code"], error["description"]) if error else "created"


def main():
    servers = [Server(sys.argv[1]), Server(sys.argv[2])]
    for server in servers:
        server.connection.api("STREAM.CREATE.S", STREAM)
        server.connection.api("STREAM.CREATE.T", {"name": "T", "subjects": ["t.>"]})
    tried = differences = 0
    # A fault paired with itself is that fault alone.
    for one, other in itertools.combinations_with_replacement(FAULTS, 2):
        config = merged(FAULTS[one], FAULTS[other])
        # Pedantic requests to a stream with limits fail for the lack of them, whatever else is wrong.
        for stream, pedantic in (("S", False), ("S", True), ("T", False), ("T", True)) if config else ():
            ours, theirs = (outcome(server, stream, config, pedantic) for server in servers)
            tried += 1
            if ours != theirs:
                differences += 1
                print(f"{stream}: {one} + {other}{', pedantic' if pedantic else ''}: ternd {ours}, nats-server {theirs}")
    for server in servers:
        server.end()
    print(f"{tried} configurations, {differences} differences")
    sys.exit(1 if differences else 0)


main()
