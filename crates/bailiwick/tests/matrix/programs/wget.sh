# wget.sh: does $STEPS against $BASE.
set -eu
fetch() {
    wget ${ORIGIN_CA:+"--ca-certificate=$ORIGIN_CA"} --no-config --no-verbose --tries=1 "$@"
}
ask() { fetch --server-response --output-document=body "$@" 2>said || { cat said >&2 && exit 1; }; }
events() {
    while read -r name word; do
        case $name in
            data:) printf '%s ' "$word" ;;
        esac
        if [ "$word" = first ]; then
            fetch --output-document=seen --post-data= "$BASE/seen"
        fi
    done
}
for step in $STEPS; do
    case $step in
        large | chunked) ask "$BASE/$step" ;;
        head) ask --method=HEAD "$BASE/large" ;;
        echo) ask --post-file=posted "$BASE/echo" ;;
        events)
            words=$(fetch --server-response --output-document=- "$BASE/events" 2>said | events)
            ;;
    esac
    case $step in
        events) value=$words ;;
        head) value=$(sed -n 's/^ *content-length: //Ip' said | tail -1) ;;
        *) value=$(sha256sum <body | cut -d' ' -f1) ;;
    esac
    status=$(sed -n 's|^ *HTTP/1.1 \([0-9]*\).*|\1|p' said | tail -1)
    echo "$step" h1 "$status" $value
done
