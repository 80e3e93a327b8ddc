# What an operator asks with the nats command and a user of an ordinary account: who am I, who is connected, is it well,
# where does a message go. Prints facts that do not change from run to run.
set -u
url=$1
nats() { command nats --server "$url" "$@" 2>&1; }
masked() { sed -E 's/127.0.0.1:[0-9]+/SERVER/g; s/[0-9.]+(ns|µs|ms|s)\b/TIME/g; s/cid:[0-9]+/cid:N/; s/[0-9]+(\.[0-9]+)? (B|KiB|MiB)/SIZE/g'; }

nats stream add ORDERS --subjects 'orders.>' --defaults --storage file >/dev/null; echo "stream add: $?"
nats pub orders.1 one --jetstream >/dev/null
nats consumer add ORDERS WORK --pull --defaults >/dev/null; echo "consumer add: $?"

nats rtt --json >/dev/null; echo "rtt: $?"
nats account info | grep -E 'Account:|Expires:|Client IP:|Streams:|Consumers:|Headers Supported|Maximum Payload' | masked
nats account report connections | grep -c 'NATS CLI'
nats account report statistics | masked | grep -c SIZE
nats server check connection | masked | cut -d'|' -f1
nats server check jetstream | cut -d'|' -f1
nats server check stream --stream ORDERS --msgs-warn 100 --msgs-critical 1000 | cut -d'|' -f1
nats server check stream --stream NONE; echo "missing stream: $?"
nats server check consumer --stream ORDERS --consumer WORK | cut -d'|' -f1
nats server check consumer --stream ORDERS --consumer NONE; echo "missing consumer: $?"
nats server check message --stream ORDERS --subject orders.1 --content one | masked | cut -d'|' -f1
nats server check message --stream ORDERS --subject orders.1 --content two | masked | cut -d'|' -f1

command nats --server "$url" sub 'traced' --count 1 >/dev/null 2>&1 & subscriber=$!
trap 'kill $subscriber 2>/dev/null' EXIT
for _ in $(seq 200); do nats trace traced | grep -q 'To Client\|--C' && break; done
nats trace traced | masked | grep -E 'Client|Subscription|JetStream|No active' | sed -E 's/"[^"]*"/NAME/g' | sort -u
nats trace orders.9 | masked | grep -E 'JetStream|Stream' | sort -u
nats server info >/dev/null; echo "no system user: $?"
