import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Publishes a notification to device tokens with kafka-clients, and prints the request's id.
 *
 * <pre>BELFRY_KAFKA_BROKERS=HOST:PORT [SPREAD=N] [LANE=NAME] java -cp … Publish BUNDLE PAYLOAD TOKEN…</pre>
 *
 * PAYLOAD is JSON with an `aps` object, TOKEN hexadecimal. SPREAD (1) is the bundle's, as all publishers have it.
 * LANE (normal) is urgent, normal or bulk.
 */
public final class Publish {
    /** The Kafka topics by LANE. */
    static final Map<String, String> LANES =
        Map.of("urgent", "push.requests.urgent", "normal", "push.requests", "bulk", "push.requests.bulk");

    /** The key of the record that carries a token. */
    static String keyOf(String bundle, byte[] token, int spread) {
        if (spread == 1) return bundle;
        CRC32 checksum = new CRC32();
        checksum.update(token);
        return bundle + "#" + checksum.getValue() % spread;
    }

    /** In quotes, with what JSON wants escaped. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char unit : text.toCharArray()) {
            if (unit < ' ') {
                quoted.append(String.format("\\u%04x", (int) unit));
            } else {
                if (unit == '"' || unit == '\\') quoted.append('\\');
                quoted.append(unit);
            }
        }
        return quoted.append('"').toString();
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 3) {
            System.err.println("usage: Publish BUNDLE PAYLOAD TOKEN…");
            System.exit(64);
        }
        String bundle = arguments[0];
        int spread = Integer.parseInt(System.getenv().getOrDefault("SPREAD", "1"));
        String topic = LANES.get(System.getenv().getOrDefault("LANE", "normal"));
        // A record holds the tokens of its own key only.
        Map<String, List<String>> tokens = new LinkedHashMap<>();
        for (String token : List.of(arguments).subList(2, arguments.length)) {
            tokens.computeIfAbsent(keyOf(bundle, HexFormat.of().parseHex(token), spread), key -> new ArrayList<>())
                .add("{\"hex\":\"" + token + "\"}");
        }
        // Left alone it places keys by murmur2, is idempotent and waits for all replicas.
        Properties properties = new Properties();
        properties.put("bootstrap.servers", System.getenv("BELFRY_KAFKA_BROKERS"));
        String request = UUID.randomUUID().toString();
        var serializer = new StringSerializer();
        try (var producer = new KafkaProducer<>(properties, serializer, serializer)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (var entry : tokens.entrySet()) {
                String value = String.format("{\"requestId\":%s,\"payloadJson\":%s,\"tokens\":[%s]}",
                    quoted(request), quoted(arguments[1]), String.join(",", entry.getValue()));
                var record = new ProducerRecord<>(topic, entry.getKey(), value);
                record.headers().add("content-type", "application/json".getBytes());
                sent.add(producer.send(record));
            }
            for (var delivery : sent) delivery.get();
        }
        System.out.println(request);
    }
}
