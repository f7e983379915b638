// Asks with java.net.http.HttpClient.
import java.io.*;
import java.net.URI;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;

public class Ask {
    public static void main(String[] arguments) throws Exception {
        System.out.println("version " + Runtime.version().feature());
        var input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        var lines = input.split("\n", -1);
        var timeout = Duration.ofMillis((long) (Double.parseDouble(lines[2]) * 1000));
        try {
            var client = HttpClient.newBuilder().connectTimeout(timeout).build();
            var bytes = HttpResponse.BodyHandlers.ofByteArray();
            var models = request(lines, "/models", timeout).build();
            System.out.println("models " + client.send(models, bytes).statusCode());
            if (!lines[3].isEmpty()) {
                var body = HttpRequest.BodyPublishers.ofString(lines[3]);
                var chat = client.send(
                    request(lines, "/chat/completions", timeout)
                        .header("Content-Type", "application/json")
                        .POST(body).build(),
                    bytes);
                var content = Base64.getEncoder().encodeToString(chat.body());
                System.out.println("chat " + chat.statusCode() + " " + content);
            }
        } catch (Exception error) {
            System.out.println("error " + String.valueOf(error).replace("\n", " "));
        }
    }

    static HttpRequest.Builder request(String[] lines, String path, Duration timeout) {
        return HttpRequest.newBuilder(URI.create(lines[0] + path))
            .timeout(timeout)
            .header("Authorization", "Bearer " + lines[1]);
    }
}
