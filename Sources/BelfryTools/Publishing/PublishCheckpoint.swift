import BelfryProducer
import BelfrySupport
import Foundation
import PushSchemas
import RequestLanes

/// Progress of a publication: all tokens of the file before a place are acknowledged.
struct PublishCheckpoint: Checkpoint, Equatable, Sendable {
    /// Identity of the begun work.
    struct Source: Codable, Equatable, Sendable {
        var file: TokenFile.Identity
        /// The order and the brokers, as text.
        var order: String
    }

    var source: Source
    /// One request goes on: its id and its expiration are those of the first run.
    var requestID: String
    /// UNIX seconds.
    var expiration: UInt32?
    var place = TokenFilePlace()

    /// The text of an order, by which it is known again.
    ///
    /// - Parameters:
    ///   - lane: the normal one has no word, so that a checkpoint from before there were lanes goes on.
    ///   - fixed: how id and expiration were given, as far as they are the same each time.
    static func text(
        of template: RequestBatcher.Template,
        _ format: TokenFormat,
        in lane: RequestLane = .normal,
        fixed: String,
        brokers: String
    ) -> String {
        var template = template
        let content = template.content.identity
        (template.content, template.requestID, template.expiration) = (.payload([]), "", nil)
        let text = "\(template) \(content) \(format) \(fixed) \(hosts(brokers))"
        return lane == .normal ? text : "\(text) lane \(lane.rawValue)"
    }

    /// Nil: there is none yet.
    ///
    /// - Throws: the file is of other work, or none of ours: neither is overwritten.
    static func read(_ path: String, of source: Source) throws(ToolError) -> PublishCheckpoint? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        guard let found = try? JSONDecoder().decode(PublishCheckpoint.self, from: data),
            (0...found.source.file.size).contains(found.place.offset)
        else { throw .refused("\(path): is no checkpoint of publish; name another file") }
        guard found.source.file == source.file else {
            throw .refused(
                "\(path): is the checkpoint of another file of tokens, or this one has changed since; name another "
                    + "checkpoint, or remove this one"
            )
        }
        guard found.source.order == source.order else {
            throw .refused(
                "\(path): is the checkpoint of a publication with another payload, other options or brokers, or into "
                    + "another lane, which was interrupted; finish that one, name another file, or remove this one"
            )
        }
        return found
    }
}
