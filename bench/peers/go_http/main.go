// Go's net/http. Run as `go_http PORT`; BENCH_KEYS is a file of keys. With BENCH_CERTIFICATE,
// a file with a certificate and its key, it serves TLS.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	model      = "vendor-cabinet-preview-echo"
	maxBody    = 32768
	maxContent = 8192
	models     = `{"object":"list","data":[{"id":"` + model + `","object":"model","owned_by":"vendor"}]}`
)

var keys = map[[32]byte]bool{}

type refused struct {
	status int
	code   string
}

func (r refused) Error() string { return r.code }

type fields = map[string]json.RawMessage

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

func checkHead(r *http.Request) error {
	endpoint := r.Method + " " + r.RequestURI
	if endpoint != "GET /v1/models" && endpoint != "POST /v1/chat/completions" {
		return refused{404, "not_found"}
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || !keys[sha256.Sum256([]byte(key))] {
		return refused{401, "invalid_key"}
	}
	return nil
}

func object(data []byte, required []string, optional ...string) (fields, error) {
	var found fields
	if json.Unmarshal(data, &found) != nil || found == nil {
		return nil, refused{400, "invalid_json"}
	}
	left := len(found)
	for _, name := range required {
		if _, here := found[name]; here {
			left--
		}
	}
	missing := len(found)-left < len(required)
	for _, name := range optional {
		if _, here := found[name]; here {
			left--
		}
	}
	if left > 0 {
		return nil, refused{400, "unknown_field"}
	}
	if missing {
		return nil, refused{400, "missing_field"}
	}
	return found, nil
}

func text(data json.RawMessage) (string, bool) {
	var value *string
	if json.Unmarshal(data, &value) != nil || value == nil {
		return "", false
	}
	return *value, true
}

func read(body []byte) (string, error) {
	if !utf8.Valid(body) {
		return "", refused{400, "invalid_json"}
	}
	request, err := object(body, []string{"model", "messages"}, "stream", "max_tokens")
	if err != nil {
		return "", err
	}
	if name, ok := text(request["model"]); !ok || name != model {
		return "", refused{400, "invalid_model"}
	}
	var messages []json.RawMessage
	if json.Unmarshal(request["messages"], &messages) != nil || len(messages) != 1 {
		return "", refused{400, "invalid_messages"}
	}
	only, err := object(messages[0], []string{"role", "content"})
	if err != nil {
		return "", err
	}
	if role, ok := text(only["role"]); !ok || role != "user" {
		return "", refused{400, "invalid_role"}
	}
	content, ok := text(only["content"])
	switch {
	case !ok:
		return "", refused{400, "invalid_content"}
	case content == "":
		return "", refused{400, "empty_content"}
	case len(content) > maxContent:
		return "", refused{400, "content_too_large"}
	}
	if value, here := request["stream"]; here && string(value) != "false" {
		return "", refused{400, "stream_unavailable"}
	}
	if value, here := request["max_tokens"]; here && string(value) != "2000" {
		return "", refused{400, "invalid_max_tokens"}
	}
	return content, nil
}

func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func answer(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkHead(r); err != nil {
		return nil, err
	}
	if r.Method == "GET" {
		return []byte(models), nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, refused{413, "request_too_large"}
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/json" {
		return nil, refused{415, "unsupported_media_type"}
	}
	content, err := read(body)
	if err != nil {
		return nil, err
	}
	tokens := (len(content) + 3) / 4
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(completion{
		newID(), "chat.completion", time.Now().Unix(), model,
		[]choice{{0, message{"assistant", content}, "stop"}},
		usage{tokens, tokens, 2 * tokens},
	})
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

func serve(w http.ResponseWriter, r *http.Request) {
	status := 200
	body, err := answer(w, r)
	if err != nil {
		broken := refused{500, "internal_error"}
		errors.As(err, &broken)
		status, body = broken.status, []byte(`{"error":{"code":"`+broken.code+`"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

func main() {
	file, err := os.ReadFile(os.Getenv("BENCH_KEYS"))
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range bytes.Fields(file) {
		keys[sha256.Sum256(key)] = true
	}
	address, handler := "127.0.0.1:"+os.Args[1], http.HandlerFunc(serve)
	if certificate := os.Getenv("BENCH_CERTIFICATE"); certificate != "" {
		log.Fatal(http.ListenAndServeTLS(address, certificate, certificate, handler))
	}
	log.Fatal(http.ListenAndServe(address, handler))
}
