import Testing

@testable import PayloadRendering

@Suite("The language of a device among those of a notification")
struct LanguageTableTests {
    private func table(_ tags: String...) -> LanguageTable {
        var table = LanguageTable()
        for (index, tag) in tags.enumerated() where !table.insert(tag, number: index + 1) {
            Issue.record("\(tag) is there twice")
        }
        return table
    }

    @Test("The whole tag comes first, then the tag without its last parts, then the default")
    func fallback() {
        let table = table("pt", "pt-BR", "de", "zh-Hant-HK", "sr-Latn")
        let expected = [
            "pt-BR": 2, "pt": 1, "pt-PT": 1, "pt-BR-x-rio": 2, "de": 3, "de-AT-1996": 3, "zh-Hant-HK": 4, "zh-Hant": 0,
            "zh-Hant-HK-x-a": 4, "sr-Latn-RS": 5, "sr-Cyrl": 0, "en": 0, "p": 0, "ptx": 0, "-pt": 0, "pt-": 1,
        ]
        for (locale, number) in expected { #expect(table.number(of: locale) == number, "\(locale)") }
    }

    @Test("Case does not matter, and an underscore counts as a hyphen")
    func spelling() {
        let table = table("pt-BR", "ZH-hant-hk")
        #expect(["PT-br", "pt_BR", "pT_bR"].map(table.number(of:)) == [1, 1, 1])
        #expect(["zh_HANT_hk", "zh-Hant-HK-a"].map(table.number(of:)) == [2, 2])
        var twice = table
        #expect(!twice.insert("pt_br", number: 9) && !twice.insert("zh-hant-HK", number: 9))
    }

    @Test("A locale that is none takes the default")
    func hostile() {
        let table = table("de")
        let long = ["d", "d-"].map { String(repeating: $0, count: 4000) }
        for locale in ["", "-", "---", "\0", "d\0", "ü"] + long {
            #expect(table.number(of: locale) == 0, "\(locale.prefix(9))")
        }
        #expect(LanguageTable().number(of: "de") == 0)
    }

    @Test("A locale beyond the limit is cut behind its last part that is whole, as if it had been shortened to it")
    func longLocale() {
        let table = table("de-DE", "de-DE-u-ca-gregory-nu-latn-rg-atzzz")
        #expect(table.number(of: "de-DE-u-ca-gregory-nu-latn-rg-atzzz") == 2, "as long as a tag may be")
        #expect(table.number(of: "de-DE-u-ca-gregory-nu-latn-rg-atzzz-a") == 2)
        #expect(table.number(of: "de-DE-u-ca-gregory-nu-latn-rg-atzzzz") == 1)
        #expect(table.number(of: String(repeating: "de_DE-", count: 4000)) == 1)
    }

    @Test("A tag has parts of one to eight letters and digits")
    func tags() {
        for tag in ["de", "pt-BR", "zh-Hant-HK", "es-419", "x"] { #expect(LanguageTable.isTag(tag), "\(tag)") }
        let others = [
            "", "-", "de-", "-de", "de--AT", "größe", "d e", "abcdefghi", String(repeating: "a-", count: 20) + "a",
        ]
        for tag in others { #expect(!LanguageTable.isTag(tag), "\(tag)") }
    }
}
