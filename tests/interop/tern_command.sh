# The tern command: pub, sub, req, reply, streams, consumers, consumer next, bench, exit codes, and the same queue groups and
# streams as the nats command uses. Prints facts that do not change from run to run.
set -u
command=${TERN_COMMAND:-tern}
tern() { "$command" "$@"; }   # the server's address comes from NATS_URL
export NATS_URL=$1

# fields EXPRESSION: reads a record and prints the expression over it.
fields() { python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"; }
# until_ready SUBJECT: requests until somebody answers, so that nothing depends on how fast a program starts.
until_ready() {
  for _ in $(seq 500); do tern req "$1" ready --timeout 2s >/dev/null 2>&1 && return 0; done
  echo "nobody answers on $1"; exit 1
}
# until_ended PROCESS SUBJECT BODY...: publishes until the subscriber has had enough.
until_ended() {
  for _ in $(seq 500); do
    tern pub "${@:2}" >/dev/null 2>&1
    kill -0 "$1" 2>/dev/null || break
  done
  wait "$1"
}

echo "== requests"
"$command" reply echo.service --echo >/dev/null 2>&1 & echo_service=$!
"$command" reply 'answer.*' 'answer {{Count}} to {{Request}}' --count 4 >reply.out 2>/dev/null & answers=$!
trap 'kill $echo_service $answers 2>/dev/null' EXIT
until_ready echo.service
tern req echo.service 'one two' --raw
tern req echo.service body -H A:b -H A:c --json | fields '[r["headers"], r["payload"]]'
printf 'from\nstdin' | tern req echo.service --raw
nats req echo.service 'from nats' --raw 2>/dev/null
until_ready answer.a
tern req answer.b two --raw
tern req answer.c three --replies 1 --raw
tern req answer.d four --replies 2 --reply-timeout 50ms --raw
wait $answers; echo "reply ended: $?"
grep -v '^$' reply.out
tern req nobody x >/dev/null 2>&1; echo "nobody answers: $?"

echo "== subscriptions"
"$command" sub 'greet.*' --count 2 >sub.out 2>/dev/null & subscriber=$!
until_ended $subscriber greet.joe hello -H Lang:en
echo "sub: $?"; cat sub.out
"$command" sub 'greet.>' --count 1 --raw >raw.out 2>/dev/null & subscriber=$!
until_ended $subscriber greet.x.y 'raw {{Count}}'; cat raw.out
"$command" sub 'greet.>' --count 1 --json >json.out 2>/dev/null & subscriber=$!
until_ended $subscriber greet.x body --reply back.here; cat json.out
"$command" sub 'greet.>' --count 1 --headers-only --queue q >headers.out 2>/dev/null & subscriber=$!
until_ended $subscriber greet.x body -H A:b; cat headers.out

echo "== streams"
tern stream add ORDERS --subjects 'orders.>,o' --max-age 1d --max-bytes 10MB --max-msg-size 64k --dupe-window 1m \
  --max-msgs-per-subject 100 --defaults --json |
  fields 'sorted((k, v) for k, v in r["config"].items() if k in ("subjects", "max_age", "max_bytes", "max_msg_size", "duplicate_window", "max_msgs_per_subject", "storage", "retention", "discard", "num_replicas", "allow_direct"))'
tern stream add ORDERS --subjects other >/dev/null 2>&1; echo "another configuration: $?"
tern stream add WORK --subjects work --storage memory --retention work --discard new --max-msgs 2 >/dev/null; echo "add: $?"
tern stream ls --names
tern stream ls --json | fields 'sorted((s["config"]["name"], s["state"]["messages"]) for s in r)'
for n in 1 2 3; do tern pub "orders.$n" 'order {{Count}}' --count 2 -J --json; done
tern pub work 'job {{Count}}' -J --count 3 --json 2>/dev/null; echo "a full stream: $?"
tern pub nowhere x -J >/dev/null 2>&1; echo "no stream: $?"
tern pub orders.4 'not waited for' >/dev/null 2>&1
tern stream info ORDERS --json | fields '{k: r["state"][k] for k in ("messages", "bytes", "first_seq", "last_seq", "num_subjects", "consumer_count")}'
tern stream info ORDERS --state | sed 's/ @ .*//; s/created .*//'
tern stream get ORDERS 2 --json | fields '[r["message"]["subject"], r["message"]["seq"], r["message"]["data"]]'
tern stream get ORDERS -S orders.3 | tail -1
tern stream get ORDERS 99 2>&1; echo "get: $?"
tern stream info NOPE --json 2>/dev/null; echo "info: $?"

echo "== consumers"
tern consumer add ORDERS work --pull --filter orders.1 --filter orders.2 --wait 30s --max-deliver 5 --backoff 1m,2m --json |
  fields '{k: r["config"].get(k) for k in ("durable_name", "filter_subjects", "ack_policy", "ack_wait", "max_deliver", "backoff", "max_ack_pending")}'
tern consumer add ORDERS work --pull >/dev/null 2>&1; echo "another configuration: $?"
tern consumer add ORDERS all --pull --deliver 3 --max-pending 10 >/dev/null; echo "add: $?"
tern consumer add ORDERS push --target deliver.here --deliver last --filter orders.3 >/dev/null; echo "add: $?"
tern consumer ls ORDERS --names
tern consumer ls ORDERS --json | fields 'sorted((c["name"], c["num_pending"]) for c in r)'
tern consumer next ORDERS work --raw
tern consumer next ORDERS work --raw --no-ack
nats consumer next ORDERS work --raw --ack 2>/dev/null
tern consumer next ORDERS all --json --count 2 | sed 's/"reply":"[^"]*",//; s/,"time":"[^"]*"//'
tern consumer next ORDERS all --raw --nak
tern consumer next ORDERS all --raw --term
tern consumer info ORDERS work --json | fields '[r["num_pending"], r["num_ack_pending"], r["ack_floor"]["stream_seq"], r["delivered"]["stream_seq"]]'
tern consumer info ORDERS work | sed 's/ created .*//; /Waiting Pulls/d'
tern consumer next WORK nothing --timeout 1s >/dev/null 2>&1; echo "no consumer: $?"
tern consumer rm ORDERS work >/dev/null 2>&1; echo "without -f: $?"
tern consumer rm ORDERS work -f; echo "rm: $?"
tern consumer info ORDERS work 2>&1; echo "info: $?"

echo "== purging and removing"
tern stream purge ORDERS -f --subject orders.1 --json | fields 'r["purged"]'
tern stream purge ORDERS -f --keep 1 | head -1
tern stream purge ORDERS -f --seq 100 --json | fields 'r["purged"]'
tern stream rm ORDERS; echo "without -f: $?"
tern stream rm ORDERS -f; echo "rm: $?"
tern stream rm ORDERS -f 2>&1; echo "rm again: $?"
tern stream ls --names

echo "== benchmarks and the rest"
tern bench pub bench.core --msgs 20000 --size 16 --clients 2 | grep -c 'msgs/sec'
"$command" bench sub bench.fan --msgs 500 --json >bench.out 2>/dev/null & subscriber=$!
until_ended $subscriber bench.fan x --count 100
fields '[r["benchmark"], r["messages"], r["message_size"]]' <bench.out
tern bench js pub bench.file --create --msgs 2000 --size 128 --batch 200 2>/dev/null | grep -e Stream: -e Durability: | sed 's/^ *//'
tern bench js pub bench.memory --create --stream M --storage memory --msgs 500 --batch 1 --json 2>/dev/null | fields '[r["messages"], r["stream"], r["durability"]]'
tern stream info benchstream --json | fields 'r["state"]["messages"]'
tern account info --json | fields 'sorted(r)[:3] + [r["streams"]]'
tern rtt 3 --json | fields '[r["count"], r["minimum"] <= r["average"] <= r["maximum"]]'
tern pub 2>/dev/null; echo "usage: $?"
tern --creds file pub a b 2>&1; echo "credentials files: $?"
tern --server 127.0.0.1:1 pub a b >/dev/null 2>&1; echo "no server: $?"
