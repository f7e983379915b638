// Requests the model list, then sends every text twice with the HTTP client of the JDK,
// which offers HTTP/2 in each request over plain HTTP.
// Prints one line for each answer: its status and its body.

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.io.ByteArrayInputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

class Readback {
    public static void main(String[] arguments) throws Exception {
        String base = arguments[0], key = arguments[1];
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        var client = HttpClient.newHttpClient();
        var list = HttpRequest.newBuilder(URI.create(base + "/models"))
            .header("Authorization", "Bearer " + key).build();
        var models = client.send(list, BodyHandlers.ofString(StandardCharsets.UTF_8));
        out.println(models.statusCode() + " " + models.body());
        for (int at = 2; at < arguments.length; at++) {
            byte[] body = arguments[at].getBytes(StandardCharsets.UTF_8);
            BodyPublisher sized = BodyPublishers.ofByteArray(body);
            BodyPublisher chunked =
                BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body));
            for (var publisher : new BodyPublisher[] {sized, chunked}) {
                var request = HttpRequest.newBuilder(URI.create(base + "/chat/completions"))
                    .header("Authorization", "Bearer " + key)
                    .header("Content-Type", "application/json")
                    .POST(publisher).build();
                var answer =
                    client.send(request, BodyHandlers.ofString(StandardCharsets.UTF_8));
                out.println(answer.statusCode() + " " + answer.body());
            }
        }
    }
}
