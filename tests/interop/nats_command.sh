# The nats command: pub, sub, req, reply, stream and consumer management, consumer next, bench. Prints facts that do not
# change from run to run.
set -u
nats() { command nats --server "$1" "${@:2}"; }
url=$1

# until_ready SUBJECT: requests until somebody answers, so that nothing depends on how fast a program starts.
until_ready() {
  for _ in $(seq 500); do command nats --server "$url" req "$1" ready --timeout 2s >/dev/null 2>&1 && return 0; done
  echo "nobody answers on $1"; exit 1
}

nats "$url" reply echo.service --echo >/dev/null 2>&1 & replier=$!
nats "$url" reply counted 'answer {{Count}}' --queue q >/dev/null 2>&1 & counted=$!
nats "$url" sub 'greet.*' --count 2 --raw >sub.out 2>/dev/null & subscriber=$!
trap 'kill $replier $counted $subscriber 2>/dev/null' EXIT
until_ready echo.service
until_ready counted
echo "request: $(nats "$url" req echo.service one --raw 2>/dev/null)"
for _ in $(seq 500); do
  nats "$url" pub greet.joe hello --header Lang:en >/dev/null 2>&1
  kill -0 $subscriber 2>/dev/null || break
done
wait $subscriber
echo "subscribed: $(sort -u sub.out | tr '\n' ' ')"

nats "$url" stream add ORDERS --subjects 'orders.>' --defaults --storage file >/dev/null 2>&1; echo "stream add: $?"
nats "$url" stream ls --names 2>/dev/null
for n in 1 2 3 4 5; do nats "$url" pub "orders.$n" "order $n" --jetstream >/dev/null 2>&1 || echo "pub $n failed"; done
nats "$url" stream info ORDERS --json 2>/dev/null | python3 -c '
import json, sys
info = json.load(sys.stdin)
print("stream info:", info["config"]["subjects"], info["config"]["max_msgs"], info["state"]["messages"], info["state"]["bytes"])'
nats "$url" stream get ORDERS 2 --json 2>/dev/null | python3 -c '
import json, sys
m = json.load(sys.stdin); print("stream get:", m["subject"], m["seq"])'
nats "$url" consumer add ORDERS work --pull --ack explicit --deliver all --defaults >/dev/null 2>&1; echo "consumer add: $?"
nats "$url" consumer ls ORDERS --names 2>/dev/null
for _ in 1 2; do nats "$url" consumer next ORDERS work --raw --ack 2>/dev/null; done
nats "$url" consumer next ORDERS work --raw --no-ack 2>/dev/null
nats "$url" consumer next ORDERS work --raw --nak 2>/dev/null
nats "$url" consumer next ORDERS work --raw --term 2>/dev/null
nats "$url" consumer info ORDERS work --json 2>/dev/null | python3 -c '
import json, sys
info = json.load(sys.stdin)
print("consumer info:", info["num_pending"], info["ack_floor"]["stream_seq"], info["delivered"]["stream_seq"])'
nats "$url" stream purge ORDERS -f >/dev/null 2>&1; echo "purge: $?"
nats "$url" consumer rm ORDERS work -f >/dev/null 2>&1; echo "consumer rm: $?"
nats "$url" stream rm ORDERS -f >/dev/null 2>&1; echo "stream rm: $?"
nats "$url" bench pub bench.subject --msgs 20000 --size 16 --no-progress 2>&1 | grep -c 'msgs/sec' | sed 's/^/bench pub lines: /'
nats "$url" bench js pub bench.stream --create --msgs 5000 --size 128 --batch 500 --no-progress 2>&1 | grep -c 'msgs/sec' | sed 's/^/bench js pub lines: /'
