#!/bin/sh
# Downloads the UCI Adult set (1994 US census) and writes it as plain CSV with
# a header: adult_train.csv and adult_test.csv. Run with --help for the usage.
set -eu

DATA_SHA256=5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d
TEST_SHA256=a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05
FILES_URL=https://archive.ics.uci.edu/ml/machine-learning-databases/adult
ZIP_URL=https://archive.ics.uci.edu/static/public/2/adult.zip
TRAIN_ROWS=32561
TEST_ROWS=16281
HEADER=age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,capital_loss,hours_per_week,native_country,income

usage() {
    cat <<'END'
usage: download-adult.sh [--from DIR] [--to DIR] [--any-rows]

  --from DIR   convert DIR/adult.data and DIR/adult.test; use no network
  --to DIR     where adult_train.csv and adult_test.csv go
               (default: the directory of this script)
  --any-rows   skip the row-count check, for trying out small files

Downloading needs curl or wget, and unzip only if the plain files are not
served. Exit status: 0 done, 1 failed (nothing written), 2 bad usage.
END
}

say() { printf '%s\n' "download-adult: $*" >&2; }
die() { say "$*"; exit 1; }

# fetch URL FILE: false, with the tool's own message, when it cannot be had.
fetch() {
    say "fetching $1"
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --connect-timeout 20 --max-time 300 -o "$2" "$1"
    else
        wget -q -T 30 -O "$2" "$1"
    fi && [ -s "$2" ]
}

# download DIR: leaves adult.data and adult.test in DIR.
download() {
    command -v curl >/dev/null 2>&1 || command -v wget >/dev/null 2>&1 ||
        die "neither curl nor wget is installed; fetch adult.data and adult.test by hand and use --from"
    if fetch "$FILES_URL/adult.data" "$1/adult.data" &&
        fetch "$FILES_URL/adult.test" "$1/adult.test"; then
        return 0
    fi
    command -v unzip >/dev/null 2>&1 ||
        die "could not download the plain files, and unzip, needed for the archive, is not installed"
    fetch "$ZIP_URL" "$1/adult.zip" ||
        die "could not download from archive.ics.uci.edu; is there a network connection? (--from converts local copies)"
    unzip -q -o "$1/adult.zip" adult.data adult.test -d "$1" ||
        die "the downloaded adult.zip does not hold adult.data and adult.test"
}

# check_hash FILE SHA256: a warning only, as the shape is checked anyway.
check_hash() {
    if command -v sha256sum >/dev/null 2>&1; then
        got=$(sha256sum <"$1")
    elif command -v shasum >/dev/null 2>&1; then
        got=$(shasum -a 256 <"$1")
    else
        return 0
    fi
    [ "${got%% *}" = "$2" ] ||
        say "warning: ${1##*/} is not the copy this script was written for (sha256 ${got%% *})"
}

# convert IN OUT ROWS: checks every line of IN; ROWS is a count or "any".
convert() {
    say "converting ${1##*/}"
    LC_ALL=C awk -v header="$HEADER" -v want="$3" -v file="${1##*/}" '
        function fail(what) {
            printf "download-adult: %s line %d: %s\n", file, NR, what | "cat 1>&2"
            failed = 1
            exit 1
        }
        BEGIN { print header }
        { sub(/\r$/, "") }
        /^[ \t]*$/ || /^\|/ { next }
        {
            n = split($0, cell, ",")
            if (n != 15) fail("expected 15 fields, found " n)
            line = ""
            for (i = 1; i <= n; i++) {
                gsub(/^[ \t]+|[ \t]+$/, "", cell[i])
                if (i == 15) sub(/\.$/, "", cell[i])
                if (cell[i] == "") fail("field " i " is empty")
                if (cell[i] ~ /"/) fail("field " i " holds a quote")
                if ((i == 1 || i == 3 || i == 5 || (i >= 11 && i <= 13)) && cell[i] !~ /^[0-9]+$/)
                    fail("field " i " is not a whole number: " cell[i])
                line = line (i > 1 ? "," : "") cell[i]
            }
            if (cell[15] != ">50K" && cell[15] != "<=50K") fail("unknown label " cell[15])
            print line
            rows++
        }
        END {
            if (failed) exit 1
            if (want != "any" && rows + 0 != want + 0) {
                printf "download-adult: %s: expected %d rows, found %d\n", file, want, rows | "cat 1>&2"
                exit 1
            }
        }
    ' "$1" >"$2"
}

from='' to='' any=no
while [ $# -gt 0 ]; do
    case $1 in
        --from | --to)
            [ $# -ge 2 ] || { say "$1 needs a directory"; usage >&2; exit 2; }
            if [ "$1" = --from ]; then from=$2; else to=$2; fi
            shift 2
            ;;
        --any-rows) any=yes; shift ;;
        -h | --help) usage; exit 0 ;;
        *) say "unknown argument: $1"; usage >&2; exit 2 ;;
    esac
done

[ -n "$to" ] || to=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
[ -d "$to" ] || die "$to is not a directory"
command -v awk >/dev/null 2>&1 || die "awk is not installed"
if [ "$any" = yes ]; then TRAIN_ROWS=any TEST_ROWS=any; fi

# Everything is made here first, on the same file system, and moved at the end.
work=$to/adult_download.$$
mkdir -- "$work" || die "cannot write to $to"
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

if [ -n "$from" ]; then
    for name in adult.data adult.test; do
        [ -r "$from/$name" ] || die "cannot read $from/$name"
    done
else
    download "$work"
    from=$work
fi
if [ "$any" = no ]; then
    check_hash "$from/adult.data" "$DATA_SHA256"
    check_hash "$from/adult.test" "$TEST_SHA256"
fi
convert "$from/adult.data" "$work/train.csv" "$TRAIN_ROWS" || die "nothing was written"
convert "$from/adult.test" "$work/test.csv" "$TEST_ROWS" || die "nothing was written"
mv -f -- "$work/train.csv" "$to/adult_train.csv"
mv -f -- "$work/test.csv" "$to/adult_test.csv"
say "wrote $to/adult_train.csv and $to/adult_test.csv"
