// Requests the model list, then sends every text twice with the HTTP client of Go's
// standard library, which the libraries for Go are built on.
// Prints one line for each answer: its status and its body.

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func send(method, url, key string, body io.Reader) {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.StatusCode, string(answer))
}

func main() {
	base, key := os.Args[1], os.Args[2]
	send("GET", base+"/models", key, nil)
	for _, body := range os.Args[3:] {
		sized := strings.NewReader(body)
		// A reader whose length Go does not know is sent in chunks.
		chunked := io.MultiReader(strings.NewReader(body))
		for _, reader := range []io.Reader{sized, chunked} {
			send("POST", base+"/chat/completions", key, reader)
		}
	}
}
