import CRdKafka
import Glibc

/// Owns a `rd_kafka_topic_partition_list_t`.
struct KafkaPartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(_ places: [KafkaTopicPartition]) {
        pointer = rd_kafka_topic_partition_list_new(Int32(clamping: places.count))
        for place in places { rd_kafka_topic_partition_list_add(pointer, place.topic, place.partition) }
    }

    init(_ offsets: [KafkaPartitionOffset]) {
        pointer = rd_kafka_topic_partition_list_new(Int32(clamping: offsets.count))
        for offset in offsets {
            guard let element = rd_kafka_topic_partition_list_add(pointer, offset.topic, offset.partition) else {
                preconditionFailure("librdkafka adds to a list or aborts")
            }
            element.pointee.offset = offset.offset
            Self.setMetadata(offset.metadata, of: element)
        }
    }

    /// Makes a list of topics, for a subscription.
    init(topics: [String]) {
        self.init(topics.map { KafkaTopicPartition(topic: $0, partition: -1) })
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    var offsets: [KafkaPartitionOffset] { Self.offsets(in: pointer) }

    /// The error of the whole call, or else of the first failed partition.
    func failure(_ code: rd_kafka_resp_err_t, _ context: String) -> KafkaError? {
        Self.failure(code, in: pointer, context)
    }

    /// Sets an element's metadata. It is allocated with `malloc`, because the list frees it with `free`.
    private static func setMetadata(_ text: String, of element: UnsafeMutablePointer<rd_kafka_topic_partition_t>) {
        var text = text
        text.withUTF8 { bytes in
            guard !bytes.isEmpty, let copy = malloc(bytes.count) else { return }
            copy.copyMemory(from: UnsafeRawPointer(bytes.baseAddress!), byteCount: bytes.count)
            element.pointee.metadata = copy
            element.pointee.metadata_size = bytes.count
        }
    }
}

/// Reading lists that librdkafka owns.
extension KafkaPartitionList {
    typealias Pointer = UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    static func elements(of list: Pointer?) -> UnsafeBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeBufferPointer(start: list?.pointee.elems, count: Int(list?.pointee.cnt ?? 0))
    }

    static func places(in list: Pointer?) -> [KafkaTopicPartition] {
        elements(of: list).map { KafkaTopicPartition(topic: String(cString: $0.topic), partition: $0.partition) }
    }

    static func offsets(in list: Pointer?) -> [KafkaPartitionOffset] {
        elements(of: list).map { element in
            KafkaPartitionOffset(
                topic: String(cString: element.topic),
                partition: element.partition,
                offset: element.offset,
                metadata: String(
                    decoding: UnsafeRawBufferPointer(start: element.metadata, count: element.metadata_size),
                    as: UTF8.self
                )
            )
        }
    }

    static func failure(_ code: rd_kafka_resp_err_t, in list: Pointer?, _ context: String) -> KafkaError? {
        if let element = elements(of: list).first(where: { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }) {
            return KafkaError(element.err, "\(context) of \(String(cString: element.topic))[\(element.partition)]")
        }
        return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code, context)
    }
}
