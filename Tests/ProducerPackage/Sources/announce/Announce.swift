import BelfryProducer
import Foundation
import PushSchemas
import RequestLanes
import RequestRules

/// Returns the number of records.
func announce(_ text: String, to tokens: [Data], brokers: String) async throws(ProducerError) -> Int {
    let producer = try await PushProducer(ProducerConfiguration(brokers: brokers))
    var news = PushBundle(id: "com.example.news")
    news.spread = 4  // as in the workers' configuration
    let request = PushSendRequest.with {
        $0.requestID = UUID().uuidString
        $0.notification.alert.body = text
        $0.packedTokens = Data(tokens.joined())
    }
    do throws(ProducerError) {
        let records = try await producer.publish(request, to: news)
        await producer.close()
        return records.count
    } catch {
        // Or .notDelivered, with the tokens that may lack the notification.
        if case .refused(let faults) = error { print(faults) }
        await producer.close()
        throw error
    }
}

/// `announce BROKERS TEXT TOKEN…`, tokens in base64.
@main
struct Announce {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count > 2 else { return print("usage: announce BROKERS TEXT TOKEN…") }
        let tokens = arguments[2...].compactMap { Data(base64Encoded: $0) }
        do throws(ProducerError) {
            let records = try await announce(arguments[1], to: tokens, brokers: arguments[0])
            let topic = ProducerConfiguration(brokers: arguments[0], lane: RequestLane.normal).topic
            print("published \(records) records to \(topic)")
        } catch {
            guard case .refused(let faults) = error else { throw error }
            print("refused: \(faults.map(\.refusal.reason).joined(separator: ", "))")
        }
    }
}
