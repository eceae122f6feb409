# What `make fleet` plays: a server on a free port of loopback, three workers, and a
# workflow with scripted agents. Everything is in a scratch folder; at the end it is ended.
set -eu
dir=$(mktemp -d)
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT INT TERM
pids=
port=$(( 20000 + $$ % 20000 ))
"$TEMPORAL" server start-dev --ip 127.0.0.1 --port "$port" --db-filename "$dir/db" --headless --log-level never >/dev/null &
pids=$!
export TEMPORAL_ADDRESS=127.0.0.1:$port HOME="$dir/home" DEMO_PAUSE=1s
mkdir "$dir/home"
for i in $(seq 300); do
  "$TEMPORAL" operator cluster health --address "$TEMPORAL_ADDRESS" >/dev/null 2>&1 && break
  sleep 0.2
done
git init -q --bare -b main "$dir/remote.git"
git clone -q "$dir/remote.git" "$dir/project" 2>/dev/null
cd "$dir/project"
cat > reprise.yaml <<YAML
agents: {actor: {command: ["$FLEET", __play-agent]}}
roles: {default: actor}
env: [DEMO_PAUSE]
YAML
cat > shop.yaml <<YAML
name: shop
parallel: 3
steps:
  - {id: plan, role: planner, prompt: Plan the shop, outputs: [plan.md]}
  - {id: cart, needs: [plan], role: dev, prompt: Make the cart, outputs: [cart.txt]}
  - {id: payment, needs: [plan], role: dev, prompt: Make the payment, outputs: [payment.txt]}
  - {id: mail, needs: [plan], role: dev, prompt: Make the mails, outputs: [mail.txt]}
  - {id: review, needs: [cart, payment, mail], role: qa, prompt: Review it, outputs: [review.txt]}
YAML
git checkout -q -B main
git add -A
git -c user.name=demo -c user.email=demo@localhost commit -q -m base
git push -q origin main
echo "A server on $TEMPORAL_ADDRESS, three workers, and a workflow of five steps:"
for name in one two three; do
  "$FLEET" worker --trust --name "$name" --work "$dir/$name" 2>/dev/null &
  pids="$pids $!"
done
"$FLEET" run shop.yaml --id shop
"$FLEET" status
git fetch -q origin reprise/shop
echo "The branch reprise/shop:"
git log --graph --format=%s FETCH_HEAD
