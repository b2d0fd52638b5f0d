/*
 * code_language: the table. Pure data and two searches through it; any thread.
 */
#include "tui/markdown/code_language.h"

#include <stddef.h>

#include "base/file.h"
#include "base/mem.h"

#define C_WORDS                                                                                    \
    "auto break case char const continue default do double else enum extern float for goto if "    \
    "inline int long register restrict return short signed sizeof static struct switch typedef "   \
    "union unsigned void volatile while bool _Bool _Atomic _Static_assert size_t ssize_t int8_t "  \
    "int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"
#define JS_WORDS                                                                                   \
    "as async await break case catch class const continue debugger default delete do else export " \
    "extends finally for from function get if import in instanceof let new of return set static "  \
    "super switch this throw try typeof var void while with yield"
#define JAVA_WORDS                                                                                 \
    "abstract assert boolean break byte case catch char class const continue default do double "   \
    "else enum extends final finally float for if implements import instanceof int interface "     \
    "long native new package private protected public record return sealed short static super "    \
    "switch synchronized this throw throws transient try var void volatile while yield"

static const struct code_language languages[] = {
    {
        .names = "c h",
        .files = "c h",
        .keywords = C_WORDS,
        .constants = "NULL true false",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .flags = CODE_DIRECTIVES,
    },
    {
        .names = "cpp c++ cc cxx hpp objc cuda",
        .files = "cpp cc cxx hpp hh hxx mm cu",
        .keywords = C_WORDS
        " alignas alignof and catch class concept consteval constexpr constinit const_cast "
        "co_await co_return co_yield decltype delete dynamic_cast explicit export final friend "
        "mutable namespace new noexcept not operator or override private protected public "
        "reinterpret_cast requires static_assert static_cast template this thread_local throw try "
        "typeid typename using virtual wchar_t",
        .constants = "NULL nullptr true false",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .flags = CODE_DIRECTIVES,
    },
    {
        .names = "rust rs",
        .files = "rs",
        .keywords = "as async await break const continue crate dyn else enum extern fn for if impl "
                    "in let loop match mod move mut pub ref return self Self static struct super "
                    "trait type unsafe use where while bool char str String u8 u16 u32 u64 u128 "
                    "usize i8 i16 i32 i64 i128 isize f32 f64",
        .constants = "true false None Some Ok Err",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .flags = CODE_LIFETIMES,
    },
    {
        .names = "go golang",
        .files = "go",
        .keywords = "break case chan const continue default defer else fallthrough for func go "
                    "goto if import interface map package range return select struct switch type "
                    "var any bool byte error float32 float64 int int8 int16 int32 int64 rune "
                    "string uint uint8 uint16 uint32 uint64 uintptr",
        .constants = "true false nil iota",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .long_strings = {"`"},
        .flags = CODE_RAW_LONG,
    },
    {
        .names = "python py python3 pyi",
        .files = "py pyi",
        .keywords = "and as assert async await break case class continue def del elif else except "
                    "finally for from global if import in is lambda match nonlocal not or pass "
                    "raise return try while with yield",
        .constants = "True False None self cls",
        .line_comments = {"#"},
        .quotes = "\"'",
        .long_strings = {"\"\"\"", "'''"},
        .flags = CODE_DECORATORS,
    },
    {
        .names = "javascript js jsx mjs cjs node",
        .files = "js jsx mjs cjs",
        .keywords = JS_WORDS,
        .constants = "true false null undefined NaN Infinity",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .long_strings = {"`"},
    },
    {
        .names = "typescript ts tsx mts cts",
        .files = "ts tsx mts cts",
        .keywords = JS_WORDS
        " abstract any asserts bigint boolean declare enum implements infer interface is keyof "
        "namespace never number object private protected public readonly satisfies string symbol "
        "type unknown",
        .constants = "true false null undefined NaN Infinity",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .long_strings = {"`"},
        .flags = CODE_DECORATORS,
    },
    {
        .names = "java",
        .files = "java",
        .keywords = JAVA_WORDS,
        .constants = "true false null",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .long_strings = {"\"\"\""},
        .flags = CODE_DECORATORS,
    },
    {
        .names = "csharp cs c# kotlin kt kts scala swift dart",
        .files = "cs kt kts scala swift dart",
        .keywords = JAVA_WORDS
        " as async await base by companion constructor decimal def delegate event extension fun "
        "func get guard in init internal is lateinit let lock match namespace nint object open "
        "operator out override params protocol readonly ref repeat sbyte set some string struct "
        "suspend trait typealias uint ulong unsafe using val virtual when where with",
        .constants = "true false null nil self",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .long_strings = {"\"\"\""},
        .flags = CODE_DECORATORS,
    },
    {
        .names = "sh bash shell zsh ksh fish console shellsession shell-session",
        .files = "sh bash zsh ksh fish bashrc zshrc profile",
        .keywords = "alias break case continue do done elif else esac eval exec exit export fi for "
                    "function if in local readonly return select set shift source then trap unset "
                    "until while",
        .constants = "true false",
        .line_comments = {"#"},
        .quotes = "\"'",
        .flags = CODE_VARIABLES | CODE_SPACED_HASH | CODE_DASHES,
    },
    {
        .names = "json jsonc json5 jsonl ndjson",
        .files = "json jsonc json5 jsonl ipynb",
        .keywords = "",
        .constants = "true false null",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"",
        .flags = CODE_KEYS,
    },
    {
        .names = "yaml yml",
        .files = "yaml yml",
        .keywords = "",
        .constants = "true false null yes no on off",
        .line_comments = {"#"},
        .quotes = "\"'",
        .flags = CODE_KEYS | CODE_SPACED_HASH | CODE_DASHES,
    },
    {
        .names = "toml ini conf cfg properties dotenv env",
        .files = "toml ini conf cfg properties env service",
        .keywords = "",
        .constants = "true false",
        .line_comments = {"#", ";"},
        .quotes = "\"'",
        .long_strings = {"\"\"\"", "'''"},
        .flags = CODE_KEYS | CODE_SPACED_HASH | CODE_DASHES,
    },
    {
        .names = "sql mysql postgres postgresql sqlite plsql",
        .files = "sql",
        .keywords = "add all alter and as asc begin between by cascade case check column commit "
                    "conflict constraint create cross database default delete desc distinct do "
                    "drop else end except exists explain foreign from full group having if in "
                    "index inner insert intersect into is join key left like limit not nothing of "
                    "offset on or order outer over partition primary references returning right "
                    "rollback row rows select set table then to transaction trigger union unique "
                    "update using values view when where with bigint blob boolean char date "
                    "decimal double float int integer json jsonb numeric real serial smallint text "
                    "timestamp uuid varchar",
        .constants = "true false null",
        .line_comments = {"--"},
        .block_comment = {"/*", "*/"},
        .quotes = "'\"",
        .flags = CODE_NO_CASE,
    },
    {
        .names = "html xml svg vue xhtml svelte",
        .files = "html htm xml svg vue xhtml svelte",
        .keywords = "",
        .constants = "",
        .block_comment = {"<!--", "-->"},
        .quotes = "\"'",
        .flags = CODE_TAGS | CODE_DASHES,
    },
    {
        .names = "css scss less sass",
        .files = "css scss less sass",
        .keywords = "important",
        .constants = "",
        .line_comments = {"//"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .flags = CODE_KEYS | CODE_DASHES | CODE_DECORATORS,
    },
    {
        .names = "make makefile mk",
        .files = "mk",
        .whole = "Makefile makefile GNUmakefile",
        .keywords = "define else endef endif export ifdef ifeq ifndef ifneq include override unset "
                    "vpath",
        .constants = "",
        .line_comments = {"#"},
        .quotes = "",
        .flags = CODE_VARIABLES | CODE_TARGETS | CODE_DASHES,
    },
    {
        .names = "dockerfile docker containerfile",
        .files = "dockerfile",
        .whole = "Dockerfile Containerfile",
        .keywords = "add arg as cmd copy entrypoint env expose from healthcheck label onbuild run "
                    "shell stopsignal user volume workdir",
        .constants = "",
        .line_comments = {"#"},
        .quotes = "\"'",
        .flags = CODE_VARIABLES | CODE_NO_CASE | CODE_SPACED_HASH | CODE_DASHES,
    },
    {
        .names = "ruby rb",
        .files = "rb gemspec",
        .whole = "Gemfile Rakefile",
        .keywords =
            "alias and begin break case class def do else elsif end ensure for if in module "
            "next not or redo rescue retry return self super then undef unless until when "
            "while yield require require_relative attr_accessor attr_reader",
        .constants = "true false nil",
        .line_comments = {"#"},
        .quotes = "\"'",
        .flags = CODE_SPACED_HASH | CODE_DECORATORS,
    },
    {
        .names = "php",
        .files = "php",
        .keywords = "abstract and array as break callable case catch class clone const continue "
                    "declare default do echo else elseif enum extends final finally fn for foreach "
                    "function global if implements include instanceof interface match namespace "
                    "new or print private protected public readonly require require_once return "
                    "static switch throw trait try use var while yield",
        .constants = "true false null",
        .line_comments = {"//", "#"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .flags = CODE_VARIABLES,
    },
    {
        .names = "lua",
        .files = "lua",
        .keywords = "and break do else elseif end for function goto if in local not or repeat "
                    "return then until while",
        .constants = "true false nil",
        .line_comments = {"--"},
        .block_comment = {"--[[", "]]"},
        .quotes = "\"'",
    },
    {
        .names = "meson cmake nix hcl terraform tf starlark",
        .files = "cmake nix tf hcl bzl",
        .whole = "meson.build CMakeLists.txt BUILD",
        .keywords = "and elif else elseif endforeach endfunction endif endmacro foreach function "
                    "if in inherit let macro not or rec then with resource variable output module "
                    "data provider locals def load return for",
        .constants = "true false null True False",
        .line_comments = {"#"},
        .block_comment = {"/*", "*/"},
        .quotes = "\"'",
        .long_strings = {"'''"},
        .flags = CODE_VARIABLES | CODE_DASHES,
    },
    {
        .names = "diff patch udiff",
        .files = "diff patch",
        .keywords = "",
        .constants = "",
        .quotes = "",
        .flags = CODE_CHANGES,
    },
};

const struct code_language *code_language_at(size_t i)
{
    return i < ARRAY_LEN(languages) ? &languages[i] : NULL;
}

const struct code_language *code_language_find(struct str name)
{
    char small[16];

    if (!name.len || name.len > sizeof(small))
        return NULL;
    for (size_t i = 0; i < name.len; i++)
        small[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32 : name.ptr[i];
    for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
        if (str_is_word_of(str_make(small, name.len), languages[i].names))
            return &languages[i];
    }
    return NULL;
}

const struct code_language *code_language_of_file(struct str path)
{
    struct str name;
    size_t slash = path.len;
    size_t dot;

    while (slash && path.ptr[slash - 1] != '/')
        slash--;
    name = str_from(path, slash);
    for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
        if (languages[i].whole && str_is_word_of(name, languages[i].whole))
            return &languages[i];
    }
    dot = name.len;
    while (dot && name.ptr[dot - 1] != '.')
        dot--;
    if (!dot)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
        if (str_is_word_of(str_from(name, dot), languages[i].files))
            return &languages[i];
    }
    return NULL;
}
