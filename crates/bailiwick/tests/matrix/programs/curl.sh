# curl.sh OPTION…: does $STEPS against $BASE, with these options of curl.
set -eu
protocol() { case $1 in 2*) echo h2 ;; 1.1) echo h1 ;; *) echo "$1" ;; esac; }
ask() { curl --silent --show-error --output body --write-out '%{http_version} %{http_code}' "$@"; }
sum() { sha256sum <body | cut -d' ' -f1; }
events() {
    while read -r name word; do
        case $name in
            data:) printf ' %s' "$word" ;;
            version:) printf ' %s' "$(protocol "$word")" ;;
        esac
        if [ "$word" = first ]; then
            ask "$@" --request POST "$BASE/seen" >/dev/null
        fi
    done
}
for step in $STEPS; do
    case $step in
        large | chunked) said=$(ask "$@" "$BASE/$step") ;;
        gzip) said=$(ask "$@" --compressed "$BASE/gzip") ;;
        range) said=$(ask "$@" --range 1000-1999 "$BASE/large") ;;
        head) said=$(ask "$@" --head "$BASE/large") ;;
        echo) said=$(ask "$@" --data-binary @posted "$BASE/echo") ;;
        headers) said=$(ask "$@" --dump-header head "$BASE/headers") ;;
        together)
            said=$(curl --silent --show-error --parallel --write-out '%{http_version} %{http_code}\n' \
                "$@" --output 'part#1' "$BASE/large?[1-12]" | sort -u)
            ;;
        events)
            said=$(curl --silent --show-error --no-buffer --write-out 'version: %{http_version}\n' \
                "$@" "$BASE/events" | events "$@")
            # The words, and the protocol behind them.
            echo "events ${said##* } 200${said% *}"
            continue
            ;;
    esac
    case $step in
        # As it came: the value of one is no text in any encoding.
        headers) value=$(tr -d '\r' <head | grep -aE '^(set-cookie|x-[a-z]*): ?' |
            LC_ALL=C sort | sed 's/^x-empty:$/&\ /' | sha256sum | cut -d' ' -f1) ;;
        together) value=$(for part in part*; do sha256sum <"$part"; done | sort -u | cut -d' ' -f1) ;;
        head) value=$(tr -d '\r' <body | sed -n 's/^content-length: //Ip') ;;
        *) value=$(sum) ;;
    esac
    echo "$step $(protocol "${said% *}") ${said#* } $value"
done
