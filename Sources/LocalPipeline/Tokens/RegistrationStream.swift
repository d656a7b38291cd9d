import Foundation
import PushSchemas
import SwiftProtobuf
import Workbench

/// A token by its place in the sandbox.
package struct DevicePlace: Hashable, Sendable {
    /// Index into the stream's topics.
    package var topic: Int
    package var device: Int

    package init(topic: Int, device: Int) {
        self.topic = topic
        self.device = device
    }
}

/// The registrations that are published: a function of seed and number.
///
/// Their times grow with the number, with some disorder, so that the newest of a token is not always the last one. Half
/// of them are of few tokens, those in the slots of Redis that move.
package struct RegistrationStream: Sendable {
    package struct Record: Equatable, Sendable {
        /// From 1.
        package var number: UInt32
        package var token: DevicePlace
        /// The app gives the token up.
        package var isUnregistration: Bool
        /// UNIX seconds.
        package var time: UInt32
    }

    /// Registrations per second.
    package static let rate = 500
    /// Times are out of order by so many seconds at most.
    package static let disorderSeconds: UInt32 = 20
    private static let percentOfUnregistrations = 5
    private static let percentOfHotTokens = 50
    private static let locales = ["en", "de", "fr", "ja", "pt-BR"]

    /// Of the topics; empty: the only one that is configured.
    package let environment: String
    package let topics: [String]
    /// By topic and device, 32 bytes each.
    package let tokens: [[[UInt8]]]
    /// The tokens of which half of the records are.
    private let hot: [DevicePlace]
    private let seed: UInt64
    /// Time of the first record, UNIX seconds.
    package let start: UInt32

    /// - Parameters:
    ///   - environment: of the topics; empty: the only one that is configured.
    ///   - tokens: by topic and device.
    ///   - isHot: the token is one of the few of which half of the records are. There are such.
    ///   - start: time of the first registration, UNIX seconds.
    package init(
        seed: UInt64,
        environment: String = "",
        topics: [String],
        tokens: [[[UInt8]]],
        start: UInt32,
        isHot: (DevicePlace) -> Bool
    ) {
        precondition(topics.count == tokens.count, "tokens for every topic")
        self.seed = seed
        self.environment = environment
        self.topics = topics
        self.tokens = tokens
        self.start = start
        hot = tokens.indices.flatMap { topic in
            tokens[topic].indices.map { DevicePlace(topic: topic, device: $0) }.filter(isHot)
        }
        precondition(!hot.isEmpty, "some tokens are hot")
    }

    package func record(_ number: UInt32) -> Record {
        var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0xD6E8_FEB8_6659_FD93)
        let token =
            if random.chance(Self.percentOfHotTokens) {
                hot[random.pick(0...hot.count - 1)]
            } else {
                anyToken(&random)
            }
        return Record(
            number: number,
            token: token,
            isUnregistration: random.chance(Self.percentOfUnregistrations),
            time: time(afterSeconds: Int(number) / Self.rate, disorder: random.pick(0...Int(Self.disorderSeconds)))
        )
    }

    private func anyToken(_ random: inout SeededGenerator) -> DevicePlace {
        let topic = random.pick(0...topics.count - 1)
        return DevicePlace(topic: topic, device: random.pick(0...tokens[topic].count - 1))
    }

    /// The time that is given to what happens so long after the beginning, UNIX seconds.
    ///
    /// - Parameter disorder: seconds by which it is out of order.
    package func time(afterSeconds seconds: Int, disorder: Int) -> UInt32 {
        start + UInt32(clamping: seconds + disorder)
    }

    package func bytes(of token: DevicePlace) -> [UInt8] { tokens[token.topic][token.device] }

    /// The locale of a registration of that time: the same for all of one second, so that their order does not matter.
    package static func locale(at time: UInt32) -> String { locales[Int(time) % locales.count] }

    /// The value of its record in push.registrations; the key is the bundle ID.
    package func value(of record: Record) throws -> [UInt8] {
        var registration = PushRegistration()
        registration.token = .with { $0.raw = Data(bytes(of: record.token)) }
        registration.registeredAt = Int64(record.time)
        registration.kind = record.isUnregistration ? .unregister : .register
        registration.environment = environment
        registration.locale = Self.locale(at: record.time)
        return try registration.serializedBytes()
    }
}
