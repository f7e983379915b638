// Asks with Go's net/http.
package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	fmt.Println("version", strings.TrimPrefix(runtime.Version(), "go"))
	input, _ := io.ReadAll(os.Stdin)
	lines := strings.Split(string(input)+"\n\n\n\n", "\n")
	seconds, _ := strconv.ParseFloat(lines[2], 64)
	client := &http.Client{
		Timeout: time.Duration(seconds * float64(time.Second)),
		// A redirect would lead the key to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	status, _, err := send(client, "GET", lines[0]+"/models", lines[1], "")
	if err == nil {
		fmt.Println("models", status)
	}
	if err == nil && lines[3] != "" {
		var body []byte
		status, body, err = send(client, "POST", lines[0]+"/chat/completions", lines[1], lines[3])
		if err == nil {
			fmt.Println("chat", status, base64.StdEncoding.EncodeToString(body))
		}
	}
	if err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

func send(client *http.Client, method, url, key, body string) (int, []byte, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, content, err
}
