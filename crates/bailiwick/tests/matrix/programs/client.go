// client h1|h2: does $STEPS against $BASE, and says what came of each.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

var named = map[string]string{"HTTP/2.0": "h2", "HTTP/1.1": "h1"}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	transport := http.DefaultTransport.(*http.Transport)
	if os.Args[1] == "h1" {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	client := &http.Client{Transport: transport}
	base := os.Getenv("BASE")
	posted := must(os.ReadFile("posted"))
	ask := func(method, path, ranged string, body io.Reader) *http.Response {
		request := must(http.NewRequest(method, base+path, body))
		if ranged != "" {
			request.Header.Set("Range", ranged)
		}
		return must(client.Do(request))
	}
	together := func() string {
		said := make(chan string)
		for n := 1; n <= 12; n++ {
			go func(path string) {
				answer := ask("GET", path, "", nil)
				defer answer.Body.Close()
				said <- fmt.Sprintf("%s %d %x", named[answer.Proto], answer.StatusCode,
					sha256.Sum256(must(io.ReadAll(answer.Body))))
			}(fmt.Sprintf("/large?%d", n))
		}
		all := map[string]bool{}
		last := ""
		for n := 1; n <= 12; n++ {
			last = <-said
			all[last] = true
		}
		if len(all) != 1 {
			return fmt.Sprint(all)
		}
		return last
	}
	for _, step := range strings.Fields(os.Getenv("STEPS")) {
		var answer *http.Response
		switch step {
		case "together":
			fmt.Println(step, together())
			continue
		case "large", "gzip", "chunked", "events":
			answer = ask("GET", "/"+step, "", nil)
		case "range":
			answer = ask("GET", "/large", "bytes=1000-1999", nil)
		case "head":
			answer = ask("HEAD", "/large", "", nil)
		case "echo":
			answer = ask("POST", "/echo", "", bytes.NewReader(posted))
		}
		value := ""
		if step == "events" {
			var words []string
			lines := bufio.NewScanner(answer.Body)
			for lines.Scan() {
				if word := strings.TrimPrefix(lines.Text(), "data: "); word != lines.Text() {
					words = append(words, word)
					if len(words) == 1 {
						ask("POST", "/seen", "", nil).Body.Close()
					}
				}
			}
			value = strings.Join(words, " ")
		} else if body := must(io.ReadAll(answer.Body)); step == "head" {
			value = answer.Header.Get("Content-Length")
		} else {
			value = fmt.Sprintf("%x", sha256.Sum256(body))
		}
		answer.Body.Close()
		fmt.Println(step, named[answer.Proto], answer.StatusCode, value)
	}
}
