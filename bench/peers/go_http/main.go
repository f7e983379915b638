// The contract on Go's net/http. A typed decoder accepts a request, and the answer is
// appended to a buffer that is reused. A body that the decoder does not accept is read
// once more, member by member, to find the reason.
//
// Run as `go_http PORT`; BENCH_KEYS is a file of keys.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"log"
	"math/rand/v2"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"uuid"
)

const (
	model      = "vendor-cabinet-preview-echo"
	maxBody    = 32768
	maxContent = 8192
)

var (
	keys            = map[[32]byte]*clock{}
	models          = []byte(`{"object":"list","data":[{"id":"` + model + `","object":"model","owned_by":"vendor"}]}`)
	applicationJSON = []string{"application/json"}
	exchanges       = sync.Pool{New: func() any { return new(exchange) }}
)

// A clock returns the time, or one second more than its last value. Each key has one.
type clock struct {
	sync.Mutex
	last int64
}

func (c *clock) tell() int64 {
	c.Lock()
	defer c.Unlock()
	now := time.Now().Unix()
	c.last = max(now, c.last+1)
	if c.last > now+3600 {
		c.last = now
	}
	return c.last
}

// A refusal is nil if the request is accepted.
type refusal struct {
	status int
	code   string
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chat struct {
	Model    string     `json:"model"`
	Messages [1]message `json:"messages"`
	// Kept as text, because null and 2000.0 are refused.
	Stream    jsontext.Value `json:"stream"`
	MaxTokens jsontext.Value `json:"max_tokens"`
}

func (c *chat) accepted() bool {
	content := c.Messages[0].Content
	return c.Model == model && c.Messages[0].Role == "user" &&
		content != "" && len(content) <= maxContent &&
		(c.Stream == nil || string(c.Stream) == "false") &&
		(c.MaxTokens == nil || string(c.MaxTokens) == "2000")
}

// An exchange is the state of a request until it is answered.
type exchange struct {
	body   bytes.Buffer
	chat   chat
	answer []byte
}

func serve(w http.ResponseWriter, r *http.Request) {
	e := exchanges.Get().(*exchange)
	defer exchanges.Put(e)
	status := http.StatusOK
	if refused := e.respond(r); refused != nil {
		status = refused.status
		e.answer = append(e.answer[:0], `{"error":{"code":"`+refused.code+`"}}`...)
	}
	header := w.Header()
	header["Content-Type"] = applicationJSON
	header["Content-Length"] = []string{strconv.Itoa(len(e.answer))}
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	w.Write(e.answer)
}

func (e *exchange) respond(r *http.Request) *refusal {
	clock, refused := checkHead(r)
	if refused != nil {
		return refused
	}
	if r.Method == "GET" {
		e.answer = append(e.answer[:0], models...)
		return nil
	}
	e.body.Reset()
	// One byte more than allowed, to notice a body that is too large.
	_, err := e.body.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	if err != nil || e.body.Len() > maxBody {
		return &refusal{413, "request_too_large"}
	}
	if !isJSON(r.Header["Content-Type"]) || r.Header["Content-Encoding"] != nil {
		return &refusal{415, "unsupported_media_type"}
	}
	e.chat = chat{}
	err = json.Unmarshal(e.body.Bytes(), &e.chat, json.RejectUnknownMembers(true))
	if err != nil || !e.chat.accepted() {
		return explain(e.body.Bytes())
	}
	e.answer = appendCompletion(e.answer[:0], e.chat.Messages[0].Content, clock.tell())
	return nil
}

func checkHead(r *http.Request) (*clock, *refusal) {
	asksForModels := r.Method == "GET" && r.RequestURI == "/v1/models"
	chats := r.Method == "POST" && r.RequestURI == "/v1/chat/completions"
	if !asksForModels && !chats {
		return nil, &refusal{404, "not_found"}
	}
	sent := r.Header["Authorization"]
	if len(sent) != 1 {
		return nil, &refusal{401, "invalid_key"}
	}
	scheme, key, _ := strings.Cut(sent[0], " ")
	clock := keys[sha256.Sum256([]byte(strings.TrimLeft(key, " ")))]
	if !strings.EqualFold(scheme, "bearer") || clock == nil {
		return nil, &refusal{401, "invalid_key"}
	}
	return clock, nil
}

func isJSON(contentTypes []string) bool {
	if len(contentTypes) != 1 {
		return false
	}
	if contentTypes[0] == "application/json" {
		return true
	}
	media, _, _ := mime.ParseMediaType(contentTypes[0])
	return media == "application/json"
}

func appendCompletion(out []byte, content string, created int64) []byte {
	tokens := int64(len(content)+3) / 4
	out = append(out, `{"id":"`...)
	out, _ = newID().AppendText(out)
	out = append(out, `","object":"chat.completion","created":`...)
	out = strconv.AppendInt(out, created, 10)
	out = append(out, `,"model":"`+model+`","choices":[{"index":0,"message":{"role":"assistant","content":`...)
	out, _ = jsontext.AppendQuote(out, content)
	out = append(out, `},"finish_reason":"stop"}],"usage":{"prompt_tokens":`...)
	out = strconv.AppendInt(out, tokens, 10)
	out = append(out, `,"completion_tokens":`...)
	out = strconv.AppendInt(out, tokens, 10)
	out = append(out, `,"total_tokens":`...)
	out = strconv.AppendInt(out, 2*tokens, 10)
	return append(out, `}}`...)
}

// newID returns a random UUID without asking the kernel for each, as uuid.NewV4 does.
func newID() (id uuid.UUID) {
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

type members = map[string]jsontext.Value

// explain returns the first rule that a body breaks.
func explain(body []byte) *refusal {
	request, refused := object(body, []string{"model", "messages"}, "stream", "max_tokens")
	if refused != nil {
		return refused
	}
	if name, ok := text(request["model"]); !ok || name != model {
		return &refusal{400, "invalid_model"}
	}
	var messages []jsontext.Value
	if json.Unmarshal(request["messages"], &messages) != nil || len(messages) != 1 {
		return &refusal{400, "invalid_messages"}
	}
	if messages[0].Kind() != jsontext.KindBeginObject {
		return &refusal{400, "invalid_messages"}
	}
	only, refused := object(messages[0], []string{"role", "content"})
	if refused != nil {
		return refused
	}
	if role, ok := text(only["role"]); !ok || role != "user" {
		return &refusal{400, "invalid_role"}
	}
	content, ok := text(only["content"])
	switch {
	case !ok:
		return &refusal{400, "invalid_content"}
	case content == "":
		return &refusal{400, "empty_content"}
	case len(content) > maxContent:
		return &refusal{400, "content_too_large"}
	}
	if value, here := request["stream"]; here && string(value) != "false" {
		return &refusal{400, "stream_unavailable"}
	}
	return &refusal{400, "invalid_max_tokens"}
}

func object(data []byte, required []string, optional ...string) (members, *refusal) {
	var found members
	if json.Unmarshal(data, &found) != nil || found == nil {
		return nil, &refusal{400, "invalid_json"}
	}
	left := len(found)
	for _, name := range append(required, optional...) {
		if _, here := found[name]; here {
			left--
		}
	}
	if left > 0 {
		return nil, &refusal{400, "unknown_field"}
	}
	for _, name := range required {
		if _, here := found[name]; !here {
			return nil, &refusal{400, "missing_field"}
		}
	}
	return found, nil
}

func text(data jsontext.Value) (string, bool) {
	var value *string
	err := json.Unmarshal(data, &value)
	if err != nil || value == nil {
		return "", false
	}
	return *value, true
}

func main() {
	file, err := os.ReadFile(os.Getenv("BENCH_KEYS"))
	if err != nil {
		log.Fatal(err)
	}
	for key := range bytes.FieldsSeq(file) {
		keys[sha256.Sum256(key)] = new(clock)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(serve)))
}
