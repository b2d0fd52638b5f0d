/*
 * The dialogs that answer an ask: every answer of each as it goes back, what they show at every
 * size, and that keys typed before a dialog could be read answer nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialogs.h"
#include "tui/dialog/panel_check.h"
#include "unit.h"

/* JSON with ' for ". */
static struct str quoted(struct arena *arena, const char *json)
{
    char *text = arena_cstr(arena, str_of(json));

    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return str_of(text);
}

static const struct json *parsed(struct arena *arena, struct str text)
{
    const struct json *v = NULL;
    struct err err = {0};

    if (text.len && json_parse_copy(arena, text, &v, NULL, &err) < 0)
        fail_msg("%.*s: %s", STR_ARG(text), err.text);
    return v;
}

struct ask_row {
    const char *name;
    enum ask_kind kind;
    const char *tool;
    const char *input;
    const char *suggestions;
    const char *reason_type;
    const char *keys;
    enum panel_state state;
    bool allowed, interrupt;
    const char *message;
    const char *answer;      /* JSON; "": none */
    const char *permissions; /* JSON; "": none */
};

static struct panel *open_ask(struct arena *arena, const struct ask_row *r)
{
    struct ask ask = {
        .kind = r->kind,
        .tool_name = str_of(r->tool),
        .tool_use_id = STR("toolu_1"),
        .input = quoted(arena, r->input),
        .suggestions = quoted(arena, r->suggestions ? r->suggestions : ""),
        .reason = STR("no rule allows it"),
        .reason_type = r->reason_type ? r->reason_type : "mode",
    };

    return dialog_ask_new(&ask, "/work");
}

#define RULE                                                                                       \
    "[{'type':'addRules','rules':[{'toolName':'Bash','ruleContent':'npm test *'}],'behavior':"     \
    "'allow','destination':'localSettings'}]"
#define MODE(m) "[{'type':'setMode','mode':'" m "','destination':'session'}]"
#define PERMISSION ASK_PERMISSION
#define BASH PERMISSION, "Bash", "{'command':'npm test -x'}", RULE, NULL
#define EDIT                                                                                       \
    PERMISSION, "Edit", "{'file_path':'/work/a.c','old_string':'a','new_string':'b'}",             \
        MODE("acceptEdits"), NULL
#define PLAN PERMISSION, "ExitPlanMode", "{'plan':'# Steps\\n\\n1. one\\n2. two'}", NULL, NULL
#define LEAVE PERMISSION, "Bash", "{'command':'make','dangerouslyDisableSandbox':true}", RULE, NULL
#define SAFETY PERMISSION, "Write", "{'file_path':'/work/.git/x'}", NULL, "safetyCheck"
#define Q1                                                                                         \
    "{'question':'Which?','header':'Color','multiSelect':false,'options':[{'label':'Red',"         \
    "'description':'warm'},{'label':'Blue','description':'cold'}]}"
#define Q2                                                                                         \
    "{'question':'What on it?','header':'Extras','multiSelect':true,'options':[{'label':'Salt',"   \
    "'description':''},{'label':'Oil','description':''},{'label':'Figs','description':''}]}"
#define ONE "{'questions':[" Q1 "]}"
#define TWO "{'questions':[" Q1 "," Q2 "]}"
#define QUESTION(q) ASK_QUESTION, "AskUserQuestion", q, NULL, NULL
#define ONE_IS(answer) "{'questions':[" Q1 "],'answers':{'Which?':" answer "}}"
#define TWO_ARE(a, b) "{'questions':[" Q1 "," Q2 "],'answers':{'Which?':" a ",'What on it?':" b "}}"
#define TRUST                                                                                      \
    ASK_TRUST, "trust",                                                                            \
        "{'directory':'/work','leftOut':['/work/.tenax/settings.json: this folder is not "         \
        "trusted, so "                                                                             \
        "these are left out: hooks, env; to use them: tenax trust add','another line']}",          \
        NULL, NULL
#define RECORD PERMISSION, "SessionRecord", "{'message':'Go on?','reason':'no space'}", NULL, NULL
#define FORM(properties, more)                                                                     \
    ASK_ELICITATION, "elicitation",                                                                \
        "{'mcp_server_name':'db','message':'Who are you?','requested_schema':{'type':'object',"    \
        "'properties':{" properties "}" more "}}",                                                 \
        NULL, NULL
#define FIELDS                                                                                     \
    "'name':{'type':'string','title':'Your name','minLength':2},'age':{'type':'integer',"          \
    "'minimum':0},'ok':{'type':'boolean'},'size':{'type':'string','enum':['S','M']}"
#define NO_WORDS ""

static const struct ask_row ask_rows[] = {
    /* Permission. */
    {"1: yes", BASH, "1", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"enter: yes", BASH, "enter", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"y: yes", BASH, "y", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"2: always", BASH, "2", PANEL_DONE, true, false, NO_WORDS, "", RULE},
    {"a: no letter is for always", BASH, "a", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"y and enter", BASH, "y enter", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"n and enter", BASH, "n enter", PANEL_DONE, false, true, NO_WORDS, "", ""},
    {"y, and another thought", BASH, "y down 4", PANEL_DONE, false, true, NO_WORDS, "", ""},
    {"y and more", BASH, "y e s enter", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"y, taken back", BASH, "y backspace enter", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"down, enter: always", BASH, "down enter", PANEL_DONE, true, false, NO_WORDS, "", RULE},
    {"3: no, with words", BASH, "3 u s e space m a k e enter", PANEL_DONE, false, false,
     "The user does not want this call to be made. They say: use make", "", ""},
    {"tab: no, with words", BASH, "tab u s e enter", PANEL_DONE, false, false,
     "The user does not want this call to be made. They say: use", "", ""},
    {"the words in one piece", BASH, "3 use enter", PANEL_DONE, false, false,
     "The user does not want this call to be made. They say: use", "", ""},
    {"in one piece: no answer", BASH, "14", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"words: no answer", BASH, "x 1 4 enter", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"down to it, and words", BASH, "down down y e s enter", PANEL_DONE, false, false,
     "The user does not want this call to be made. They say: yes", "", ""},
    {"down to it, and one letter", BASH, "down down y 1 esc 4", PANEL_DONE, false, true, NO_WORDS,
     "", ""},
    {"down to it, and a number", BASH, "down down 1", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"3, and no words yet", BASH, "3 enter", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"3, then esc, then yes", BASH, "3 x esc 1", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"digits are words in the words", BASH, "3 1 2 enter", PANEL_DONE, false, false,
     "The user does not want this call to be made. They say: 12", "", ""},
    {"4: no", BASH, "4", PANEL_DONE, false, true, NO_WORDS, "", ""},
    {"n: no", BASH, "n", PANEL_DONE, false, true, NO_WORDS, "", ""},
    {"esc: no", BASH, "esc", PANEL_LEFT, false, true, NO_WORDS, "", ""},
    {"ctrl+c: no", BASH, "ctrl+c", PANEL_LEFT, false, true, NO_WORDS, "", ""},
    {"esc after moving: no", BASH, "down esc", PANEL_LEFT, false, true, NO_WORDS, "", ""},
    {"other keys do nothing", BASH, "5 shift+tab f5 left q x", PANEL_OPEN, false, true, NO_WORDS,
     "", ""},
    {"always, of an edit", EDIT, "2", PANEL_DONE, true, false, NO_WORDS, "", MODE("acceptEdits")},
    {"shift+tab: accept edits", EDIT, "shift+tab", PANEL_DONE, true, false, NO_WORDS, "",
     MODE("acceptEdits")},
    {"outside the sandbox: enter is no", LEAVE, "enter", PANEL_DONE, false, true, NO_WORDS, "", ""},
    {"outside the sandbox: 1", LEAVE, "1", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"outside the sandbox: never always", LEAVE, "2", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"safety: enter is no", SAFETY, "enter", PANEL_DONE, false, true, NO_WORDS, "", ""},
    {"safety: 1", SAFETY, "1", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"safety: no always", SAFETY, "2 a", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"safety: no shift+tab", SAFETY, "shift+tab", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"input that is no JSON", PERMISSION, "Bash", "nonsense", "nonsense", NULL, "2 1", PANEL_DONE,
     true, false, NO_WORDS, "", ""},

    /* A plan. */
    {"plan 1: accept edits", PLAN, "1", PANEL_DONE, true, false, NO_WORDS, "", MODE("acceptEdits")},
    {"plan 2: ask each", PLAN, "2", PANEL_DONE, true, false, NO_WORDS, "", MODE("default")},
    {"plan, y: ask each", PLAN, "y", PANEL_DONE, true, false, NO_WORDS, "", MODE("default")},
    {"plan, no letter for all edits", PLAN, "a", PANEL_OPEN, false, true, NO_WORDS, "", ""},
    {"plan, enter: ask each", PLAN, "enter", PANEL_DONE, true, false, NO_WORDS, "",
     MODE("default")},
    {"plan 3: keep planning", PLAN, "3 t e s t s enter", PANEL_DONE, false, false, "tests", "", ""},
    {"plan, esc", PLAN, "esc", PANEL_LEFT, false, true, NO_WORDS, "", ""},

    /* Questions. */
    {"one question", QUESTION(ONE), "2", PANEL_DONE, true, false, NO_WORDS, ONE_IS("'Blue'"), ""},
    {"one question, enter", QUESTION(ONE), "enter", PANEL_DONE, true, false, NO_WORDS,
     ONE_IS("'Red'"), ""},
    {"down to one's own words", QUESTION(ONE), "down down p i n k enter", PANEL_DONE, true, false,
     NO_WORDS, ONE_IS("'pink'"), ""},
    {"in one's own words", QUESTION(ONE), "3 p i n k enter", PANEL_DONE, true, false, NO_WORDS,
     ONE_IS("'pink'"), ""},
    {"no answer", QUESTION(ONE), "esc", PANEL_LEFT, false, true, NO_WORDS, "", ""},
    {"several", QUESTION(TWO), "1 1 3 enter enter", PANEL_DONE, true, false, NO_WORDS,
     TWO_ARE("'Red'", "'Salt, Figs'"), ""},
    {"several: enter checks what it is on", QUESTION(TWO), "1 down enter 1", PANEL_DONE, true,
     false, NO_WORDS, TWO_ARE("'Red'", "'Oil'"), ""},
    {"several and one's own", QUESTION(TWO), "1 1 4 j a m enter enter", PANEL_DONE, true, false,
     NO_WORDS, TWO_ARE("'Red'", "'Salt, jam'"), ""},
    {"back and changed", QUESTION(TWO), "1 shift+tab 2 2 enter enter", PANEL_DONE, true, false,
     NO_WORDS, TWO_ARE("'Blue'", "'Oil'"), ""},
    {"by arrows", QUESTION(TWO), "right left 1 2 enter enter", PANEL_DONE, true, false, NO_WORDS,
     TWO_ARE("'Red'", "'Oil'"), ""},
    {"change something", QUESTION(TWO), "1 1 enter 2 2 tab enter", PANEL_DONE, true, false,
     NO_WORDS, TWO_ARE("'Blue'", "'Salt'"), ""},
    {"one left out", QUESTION(TWO), "2 tab enter", PANEL_DONE, true, false, NO_WORDS,
     "{'questions':[" Q1 "," Q2 "],'answers':{'Which?':'Blue'}}", ""},
    {"checks, and tab", QUESTION(TWO), "1 1 3 tab enter", PANEL_DONE, true, false, NO_WORDS,
     TWO_ARE("'Red'", "'Salt, Figs'"), ""},
    {"checks, and right", QUESTION(TWO), "1 1 2 right enter", PANEL_DONE, true, false, NO_WORDS,
     TWO_ARE("'Red'", "'Salt, Oil'"), ""},
    {"checks, back, and on", QUESTION(TWO), "1 1 shift+tab tab tab enter", PANEL_DONE, true, false,
     NO_WORDS, TWO_ARE("'Red'", "'Salt'"), ""},
    {"checked, sent on, and unchecked", QUESTION(TWO), "1 1 2 enter shift+tab 2 tab enter",
     PANEL_DONE, true, false, NO_WORDS, TWO_ARE("'Red'", "'Salt'"), ""},
    {"all unchecked again", QUESTION(TWO), "1 1 enter shift+tab 1 tab enter", PANEL_DONE, true,
     false, NO_WORDS, "{'questions':[" Q1 "," Q2 "],'answers':{'Which?':'Red'}}", ""},
    {"words stay beside checks", QUESTION(TWO), "1 4 j a m enter shift+tab 2 tab enter", PANEL_DONE,
     true, false, NO_WORDS, TWO_ARE("'Red'", "'Oil, jam'"), ""},
    {"words changed", QUESTION(TWO), "1 4 j a m enter shift+tab 4 s enter enter", PANEL_DONE, true,
     false, NO_WORDS, TWO_ARE("'Red'", "'jams'"), ""},
    {"several, no answer", QUESTION(TWO), "1 esc", PANEL_LEFT, false, true, NO_WORDS, "", ""},
    {"a question without questions is a permission", QUESTION("{}"), "1", PANEL_DONE, true, false,
     NO_WORDS, "", ""},

    /* Trust. */
    {"trust: enter is no", TRUST, "enter", PANEL_DONE, false, false, NO_WORDS, "", ""},
    {"trust: no letters", TRUST, "n y", PANEL_OPEN, false, false, NO_WORDS, "", ""},
    {"trust: 1", TRUST, "1", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"trust: 2", TRUST, "2", PANEL_DONE, false, false, NO_WORDS, "", ""},
    {"trust: enter where nothing is at stake", ASK_TRUST, "trust",
     "{'directory':'/work','leftOut':[]}", NULL, NULL, "enter", PANEL_DONE, true, false, NO_WORDS,
     "", ""},
    {"trust: esc where nothing is at stake", ASK_TRUST, "trust",
     "{'directory':'/work','leftOut':[]}", NULL, NULL, "esc", PANEL_LEFT, false, false, NO_WORDS,
     "", ""},
    {"trust: esc", TRUST, "esc", PANEL_LEFT, false, false, NO_WORDS, "", ""},

    /* A session that cannot be written. */
    {"record: enter stops", RECORD, "enter", PANEL_DONE, false, false, NO_WORDS, "", ""},
    {"record: esc", RECORD, "esc", PANEL_LEFT, false, false, NO_WORDS, "", ""},
    {"record: 2", RECORD, "2", PANEL_DONE, true, false, NO_WORDS, "", ""},
    {"record: no letters", RECORD, "y a s g", PANEL_OPEN, false, false, NO_WORDS, "", ""},

    /* A server's form. */
    {"form: filled in", FORM(FIELDS, ""),
     "enter A d a enter enter 3 6 enter space down right right down enter", PANEL_DONE, true, false,
     NO_WORDS, "{'action':'accept','content':{'name':'Ada','age':36,'ok':true,'size':'M'}}", ""},
    {"form: nothing said", FORM(FIELDS, ""), "down down down down enter", PANEL_DONE, true, false,
     NO_WORDS, "{'action':'accept','content':{}}", ""},
    {"form: a number that is none", FORM(FIELDS, ""), "down enter x enter down down enter",
     PANEL_OPEN, false, false, NO_WORDS, "{'action':'cancel'}", ""},
    {"form: too short", FORM(FIELDS, ""), "enter A enter end up enter", PANEL_OPEN, false, false,
     NO_WORDS, "{'action':'cancel'}", ""},
    {"form: what is required", FORM(FIELDS, ",'required':['ok']"), "end up enter", PANEL_OPEN,
     false, false, NO_WORDS, "{'action':'cancel'}", ""},
    {"form: decline", FORM(FIELDS, ""), "end enter", PANEL_DONE, false, false, NO_WORDS,
     "{'action':'decline'}", ""},
    {"form: esc", FORM(FIELDS, ""), "esc", PANEL_LEFT, false, false, NO_WORDS,
     "{'action':'cancel'}", ""},
    {"form: defaults",
     FORM("'a':{'type':'string','default':'x'},'b':{'type':'number','default':1.5},'c':{'type':"
          "'boolean','default':false},'d':{'oneOf':[{'const':'s','title':'Small'},{'const':'l',"
          "'title':'Large'}],'default':'l'},'e':{'type':'array','items':{'enum':['p','q']},"
          "'default':['q']}",
          ""),
     "end up enter", PANEL_DONE, true, false, NO_WORDS,
     "{'action':'accept','content':{'a':'x','b':1.5,'c':false,'d':'l','e':['q']}}", ""},
    {"form: any of several",
     FORM("'e':{'type':'array','items':{'anyOf':[{'const':'p','title':'P'},"
          "{'const':'q','title':'Q'}]}}",
          ""),
     "space down space end up enter", PANEL_DONE, true, false, NO_WORDS,
     "{'action':'accept','content':{'e':['p','q']}}", ""},
    {"form: a page to be opened", ASK_ELICITATION, "elicitation",
     "{'mcp_server_name':'db','message':'Log in','mode':'url','url':'https://a.net/x'}", NULL, NULL,
     "enter", PANEL_DONE, true, false, NO_WORDS, "{'action':'accept'}", ""},
    {"form: input that is no JSON", ASK_ELICITATION, "x", "nonsense", NULL, NULL, "enter",
     PANEL_DONE, true, false, NO_WORDS, "{'action':'accept'}", ""},
};

static void check_json(const struct ask_row *r, const char *what, struct str got, const char *want)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    if (!json_equal(parsed(&arena, got), parsed(&arena, quoted(&arena, want))))
        fail_msg("%s: %s is '%.*s', and not '%s'", r->name, what, STR_ARG(got), want);
}

static void answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ask_rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(ask_answer_release) struct ask_answer a = ASK_ANSWER_INIT;
        const struct ask_row *r = &ask_rows[i];
        struct panel *p = open_ask(&arena, r);
        enum panel_state got;

        panel_fits(p);
        panel_wait(p);
        got = panel_keys(p, r->keys);
        panel_fits(p);
        dialog_ask_answer(p, &a);
        if (got != r->state || a.allowed != r->allowed || a.interrupt != r->interrupt)
            fail_msg("%s: state %d, allowed %d, interrupt %d", r->name, got, a.allowed,
                     a.interrupt);
        if (!str_is(buf_str(&a.message), r->message))
            fail_msg("%s: '%s'", r->name, buf_cstr(&a.message));
        check_json(r, "the input", buf_str(&a.input), r->answer);
        check_json(r, "what is permitted", buf_str(&a.permissions), r->permissions);
        panel_free(p);
    }
}

/* ---- the display ---- */

static const struct {
    const char *name;
    struct ask_row ask;
    const char *keys;
    int cols, rows;
    enum panel_look look;
    const char *shown;
} look_rows[] = {
    {"a command",
     {"", BASH},
     "",
     80,
     24,
     LOOK_NORMAL,
     "── Run a command ───────────────────────────────────────────────────────────────\n"
     "npm test -x\n"
     "Why: no rule allows it\n"
     "\n"
     "❯ 1. Yes\n"
     "  2. Yes, and from now on always allow Bash(npm test *)\n"
     "     kept in .tenax/settings.local.json, for you in this project\n"
     "  3. No, and say what to do instead\n"
     "  4. No, and stop\n"
     "Enter choose · Esc no\n"},
    {"200 columns",
     {"", BASH},
     "",
     200,
     24,
     LOOK_NORMAL,
     "  2. Yes, and from now on always allow Bash(npm test *)  kept in .tenax/settings.local.json, "
     "for you in this project\n"},
    {"20 columns",
     {"", BASH},
     "",
     20,
     24,
     LOOK_NORMAL,
     "── Run a command ───\n"
     "npm test -x\n"
     "Why: no rule allows\n"
     "it\n"
     "\n"
     "❯ 1. Yes\n"
     "  2. Yes, and from\n"
     "     now on always\n"
     "     allow Bash(npm\n"
     "     test *)\n"
     "     kept in\n"},
    {"plain",
     {"", BASH},
     "",
     80,
     24,
     LOOK_PLAIN,
     "Run a command\n"
     "npm test -x\n"
     "Why: no rule allows it\n"
     "1. Yes\n"
     "2. Yes, and from now on always allow Bash(npm test *)\n"
     "   kept in .tenax/settings.local.json, for you in this project\n"
     "3. No, and say what to do instead\n"
     "4. No, and stop\n"
     "Esc no\n"
     "Enter: Yes\n"},
    {"plain: the cursor",
     {"", BASH},
     "down",
     80,
     24,
     LOOK_PLAIN,
     "4. No, and stop\nEsc no\nEnter: Yes, and from now on always allow Bash(npm test *)\n"},
    {"plain: the words come last",
     {"", BASH},
     "3 h i",
     80,
     24,
     LOOK_PLAIN,
     "Enter send, Esc back\n> hi\n"},
    {"ascii", {"", BASH}, "", 30, 24, LOOK_ASCII, "-- Run a command -------------\n"},
    {"the words", {"", BASH}, "3 h i", 80, 24, LOOK_NORMAL, "hi\n"},
    {"the words' keys", {"", BASH}, "3 h i", 80, 24, LOOK_NORMAL, "Enter send · Esc back\n"},
    {"keys are left out whole", {"", EDIT}, "", 40, 14, LOOK_NORMAL, "Enter choose · Esc no\n"},
    {"the keys of an edit", {"", EDIT}, "", 80, 24, LOOK_NORMAL, "Shift-Tab yes, and accept edits"},
    {"an edit names its file", {"", EDIT}, "", 80, 24, LOOK_NORMAL, "── Edit a.c ──"},
    {"what always means for edits",
     {"", EDIT},
     "",
     80,
     24,
     LOOK_NORMAL,
     "  2. Yes, and from now on accept edits  until this session ends\n"},
    {"outside the sandbox",
     {"", LEAVE},
     "",
     80,
     24,
     LOOK_NORMAL,
     "── Command outside the sandbox "},
    {"outside the sandbox, in words",
     {"", LEAVE},
     "",
     80,
     24,
     LOOK_NORMAL,
     "It would run OUTSIDE the sandbox"},
    {"outside the sandbox: the cursor",
     {"", LEAVE},
     "",
     80,
     24,
     LOOK_NORMAL,
     "❯ 4. No, and stop\n"},
    {"no always", {"", SAFETY}, "", 80, 24, LOOK_NORMAL, "  2. Always (no rule can cover this)\n"},
    {"a server's tool",
     {"", PERMISSION, "mcp__db__query", "{'sql':'select 1','n':3}", NULL, NULL},
     "",
     80,
     24,
     LOOK_NORMAL,
     "── Use query of the server db ──────────────────────────────────────────────────\n"
     "sql: select 1\n"
     "n: 3\n"},
    {"what a terminal would swallow is seen",
     {"", PERMISSION, "Bash", "{'command':'echo hi\\u001b]x;rm -rf ~ ;\\u0007'}", NULL, NULL},
     "",
     80,
     24,
     LOOK_NORMAL,
     "echo hi^[]x;rm -rf ~ ;^G\n"},
    {"words about a command do not push it away",
     {"", PERMISSION, "Bash",
      "{'description':'ls\\n\\n\\n\\n\\n\\n\\n\\n','command':'rm -rf build'}", NULL, NULL},
     "",
     80,
     12,
     LOOK_NORMAL,
     "ls\nrm -rf build\n"},
    {"a path that the title cuts",
     {"", PERMISSION, "Write",
      "{'file_path':'/some/where/far/away/and/long/.bashrc','content':'x'}", NULL, NULL},
     "",
     30,
     24,
     LOOK_NORMAL,
     "Write\n/some/where/far/away/and/long/\n.bashrc\n"},
    {"rules for two places cannot be said",
     {"", PERMISSION, "Write", "{'file_path':'/x/a'}",
      "[{'type':'addDirectories','directories':['/x'],'destination':'localSettings'},{'type':"
      "'setMode','mode':'acceptEdits','destination':'session'}]",
      NULL},
     "",
     80,
     24,
     LOOK_NORMAL,
     "  2. Always (no rule can cover this)\n"},
    {"several updates",
     {"", PERMISSION, "Write", "{'file_path':'/x/a'}",
      "[{'type':'addDirectories','directories':['/x'],'destination':'session'},{'type':'setMode',"
      "'mode':'acceptEdits','destination':'session'}]",
      NULL},
     "",
     80,
     24,
     LOOK_NORMAL,
     "2. Yes, and from now on work in /x and accept edits  until this session ends\n"},
    {"the plan", {"", PLAN}, "", 80, 24, LOOK_NORMAL, "❯ 2. Yes, and ask before each edit\n"},
    {"the plan itself", {"", PLAN}, "", 80, 24, LOOK_NORMAL, "Steps\n"},
    {"a question",
     {"", QUESTION(ONE)},
     "",
     40,
     24,
     LOOK_NORMAL,
     "── Color ───────────────────────────────\n"
     "Which?\n"
     "\n"
     "❯ 1. Red  warm\n"
     "  2. Blue  cold\n"
     "  3. Something else, in your own words\n"
     "Enter choose · Esc no answer\n"},
    {"questions",
     {"", QUESTION(TWO)},
     "1 1",
     60,
     24,
     LOOK_ASCII,
     "-- Extras (2 of 2) -----------------------------------------\n"
     "What on it?\n"
     "Several may be chosen: Space checks, Enter goes on.\n"
     "\n"
     "> 1. [x] Salt\n"
     "  2. [ ] Oil\n"
     "  3. [ ] Figs\n"
     "  4. Something else, in your own words\n"},
    {"answers to be sent",
     {"", QUESTION(TWO)},
     "1 1 enter",
     40,
     24,
     LOOK_ASCII,
     "Which?\nRed\nWhat on it?\nSalt\n\n> 1. Send them\n  2. Change something\n"},
    {"answers that are missing",
     {"", QUESTION(TWO)},
     "tab tab",
     40,
     24,
     LOOK_ASCII,
     "Which?\n(not answered)\n"},
    {"trust",
     {"", TRUST},
     "",
     80,
     24,
     LOOK_NORMAL,
     "Trusting it switches on:\n"
     "• .tenax/settings.json: hooks, env\n"
     "• another line\n"
     "Without trust its hooks and the permissions in its settings do not count, and\n"
     "there are no goals here.\n"
     "The answer is kept; tenax trust changes it.\n"
     "\n"
     "  1. Yes, I trust this folder\n"
     "❯ 2. No, work without its settings\n"},
    {"a session that cannot be written",
     {"", RECORD},
     "",
     80,
     24,
     LOOK_NORMAL,
     "── The session can no longer be saved ──────────────────────────────────────────\n"
     "no rule allows it\n"
     "The conversation up to here is safe.\n"
     "\n"
     "❯ 1. Stop here; it goes on when there is room\n"
     "  2. Go on without keeping what follows\n"
     "Enter choose · Esc stop\n"},
    {"a form",
     {"", FORM(FIELDS, ",'required':['ok']")},
     "",
     60,
     24,
     LOOK_ASCII,
     "-- db asks -------------------------------------------------\n"
     "Who are you?\n"
     "\n"
     "> Your name: (empty)\n"
     "  age: (empty)\n"
     "  ok*: (yes or no)\n"
     "  size: (choose)\n"
     "  Send\n"
     "  Decline\n"},
    {"what is wrong with a form",
     {"", FORM(FIELDS, ",'required':['ok']")},
     "end up enter",
     60,
     24,
     LOOK_ASCII,
     "'ok' is required"},
};

static void looks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(look_rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);
        struct panel *p = open_ask(&arena, &look_rows[i].ask);

        panel_wait(p);
        panel_keys(p, look_rows[i].keys);
        panel_text(p, look_rows[i].cols, look_rows[i].rows, look_rows[i].look, &shown);
        if (!str_has(buf_str(&shown), str_of(look_rows[i].shown)))
            fail_msg("%s:\n%s-- and not\n%s", look_rows[i].name, buf_cstr(&shown),
                     look_rows[i].shown);
        panel_free(p);
    }
}

/* A command of a thousand lines: all of it can be seen, and the options always are. */
static void long_command(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf input = BUF_INIT(1 << 20);
    struct ask_row row = {.kind = PERMISSION, .tool = "Bash"};
    struct panel *p;
    char last[20];

    (void)state;
    buf_adds(&input, "{'command':'");
    for (int i = 1; i <= 1000; i++)
        buf_addf(&input, "%secho %d", i > 1 ? "\\n" : "", i);
    buf_adds(&input, "'}");
    row.input = buf_cstr(&input);
    p = open_ask(&arena, &row);
    panel_wait(p);
    panel_shows(p, 80, 24, LOOK_NORMAL, "Why: no rule allows it\necho 1\necho 2\n");
    panel_shows(p, 80, 24, LOOK_NORMAL, " more (PgDn)\n❯ 1. Yes\n");
    for (int i = 1; i <= 1000; i++) {
        snprintf(last, sizeof(last), "echo %d\n", i);
        for (int tries = 0; !panel_has(p, 80, 24, LOOK_NORMAL, last); tries++) {
            assert_true(tries < 2);
            panel_keys(p, "pagedown");
        }
    }
    panel_keys(p, "pageup pageup");
    assert_false(panel_has(p, 80, 24, LOOK_NORMAL, last));
    panel_keys(p, "shift+down");
    panel_shows(p, 20, 8, LOOK_NORMAL, "❯ 1. Yes\n");
    panel_free(p);
}

/* In a window of any size either the command is readable, with a note that there is more, or Enter
 * and other answers do nothing. */
static void too_small(void **state)
{
    static const int cols[] = {20, 80};
    const struct keypress enter = {.code = KEY_ENTER};
    const struct keypress one = {.code = KEY_TEXT, .text = STR("1")};
    const struct ask_row row = {"", BASH};

    (void)state;
    for (size_t i = 0; i < 2 * 12; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct panel *p = open_ask(&arena, &row);
        int rows = (int)i % 12 + 1;
        bool is_read;

        panel_wait(p);
        is_read = panel_has(p, cols[i / 12], rows, LOOK_NORMAL, "npm test -x") &&
                  panel_has(p, cols[i / 12], rows, LOOK_NORMAL, "Run a command") &&
                  (panel_has(p, cols[i / 12], rows, LOOK_NORMAL, " more (P") ||
                   panel_has(p, cols[i / 12], rows, LOOK_NORMAL, "Why"));
        assert_int_equal(is_read, rows > 3);
        if (!is_read) {
            panel_shows(p, 80, rows, LOOK_NORMAL, "Make the window larger");
            assert_int_equal(p->kind->key(p, &enter), PANEL_EARLY);
            assert_int_equal(p->kind->key(p, &one), PANEL_EARLY);
            clock_advance_ms(1000);
            assert_int_equal(p->kind->key(p, &enter), PANEL_EARLY);
            panel_wait(p); /* it is larger now */
        }
        assert_int_equal(p->kind->key(p, &enter), PANEL_DONE);
        panel_free(p);
    }
}

/* ---- keys typed ahead ---- */

static enum panel_state key_at(struct panel *p, int64_t ms, const char *key)
{
    clock_advance_ms(ms);
    return panel_keys(p, key);
}

static void typed_ahead(void **state)
{
    static const struct ask_row rows[] = {
        {"a command", BASH},
        {"an edit", EDIT},
        {"a plan", PLAN},
        {"trust", TRUST},
        {"a session that cannot be written", RECORD},
        {"questions", QUESTION(ONE)},
        {"a form", FORM(FIELDS, "")},
    };
    static const char *const keys[] = {"1",     "2",     "y",         "a",  "n",
                                       "enter", "space", "shift+tab", "tab"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(ask_answer_release) struct ask_answer a = ASK_ANSWER_INIT;
        struct panel *p = open_ask(&arena, &rows[i]);

        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            if (key_at(p, 0, keys[k]) != PANEL_OPEN)
                fail_msg("%s: %s typed ahead is an answer", rows[i].name, keys[k]);
        }
        /* The user goes on typing a sentence: each key keeps it closed a little longer. */
        for (int n = 0; n < 20; n++)
            assert_int_equal(key_at(p, DIALOG_GUARD_MS - 1, "y"), PANEL_OPEN);
        assert_int_equal(key_at(p, 0, "down up"), PANEL_OPEN);
        assert_int_equal(key_at(p, 0, "esc"), PANEL_LEFT);
        dialog_ask_answer(p, &a);
        assert_false(a.allowed);
        panel_free(p);
    }
}

/* The user begins to type while a question is open, a key every `ms`, and sends it. */
static void words_at(const struct ask_row *row, const char *words, int ms)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(ask_answer_release) struct ask_answer a = ASK_ANSWER_INIT;
    struct panel *p = open_ask(&arena, row);

    panel_wait(p);
    clock_advance_ms(1000);
    for (const char *c = words; *c; c++) {
        struct keypress k = {.code = KEY_TEXT, .text = str_make(c, 1)};
        enum panel_state got;

        clock_advance_ms(c == words ? 0 : ms);
        got = p->kind->wake ? p->kind->wake(p) : PANEL_OPEN;
        if (got == PANEL_OPEN)
            got = p->kind->key(p, &k);
        if (got != PANEL_EARLY && !(got == PANEL_HELD && c == words))
            fail_msg("%s: '%c' of '%s', a key every %d ms: %d", row->name, *c, words, ms, got);
    }
    assert_int_equal(key_at(p, ms, "enter"), PANEL_OPEN);
    assert_int_equal(key_at(p, DIALOG_GUARD_MS - 1, "enter"), PANEL_OPEN);
    panel_shows(p, 80, 24, LOOK_NORMAL, "What you type goes to your prompt.");
    dialog_ask_answer(p, &a);
    assert_false(a.allowed);
    clock_advance_ms(DIALOG_REST_MS);
    if (!p->kind->wake) /* a digit or Enter counts again */
        panel_keys(p, "enter");
    else
        assert_int_equal(panel_keys(p, "1"), PANEL_DONE);
    panel_free(p);
}

static void typed_words(void **state)
{
    static const struct ask_row rows[] = {
        {"a command", BASH},
        {"an edit", EDIT},
        {"a plan", PLAN},
        {"trust", TRUST},
        {"a session that cannot be written", RECORD},
        {"questions", QUESTION(ONE)},
        {"a form", FORM(FIELDS, "")},
    };
    static const char *const words[] = {"try it with", "what is", "fix my c", "rite it",
                                        "go 1 by 2"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t n = 0; n < ARRAY_LEN(words); n++) {
            words_at(&rows[i], words[n], 120);
            words_at(&rows[i], words[n], 800);
        }
        words_at(&rows[i], "yes please", DIALOG_HOLD_MS - 1);
        words_at(&rows[i], "now", DIALOG_HOLD_MS - 1);
    }
}

/* With any content, and after any pause. */
static void pastes(void **state)
{
    static const char *const texts[] = {"1", "y", "yes\n", "2\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct ask_row row = {"", BASH};
        struct panel *p = open_ask(&arena, &row);
        struct keypress k = {.code = KEY_PASTE, .text = str_of(texts[i])};

        panel_wait(p);
        assert_int_equal(p->kind->key(p, &k), PANEL_EARLY);
        assert_int_equal(key_at(p, DIALOG_REST_MS - 1, "enter"), PANEL_OPEN);
        panel_free(p);
    }
}

static void not_typed_ahead(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct ask_row row = {"", BASH};
    struct panel *p = open_ask(&arena, &row);

    (void)state;
    /* It returns that: the previous owner of the keys gets them. */
    assert_int_equal(p->kind->key(p, &(struct keypress){.code = KEY_TEXT, .text = STR("1")}),
                     PANEL_EARLY);
    /* Time counts from when it is seen, not from when it is made. */
    clock_advance_ms(10000);
    assert_int_equal(key_at(p, 0, "1"), PANEL_OPEN);
    assert_int_equal(key_at(p, DIALOG_GUARD_MS, "1"), PANEL_DONE);
    panel_free(p);

    p = open_ask(&arena, &row);
    assert_int_equal(panel_keys(p, "down"), PANEL_OPEN); /* moving is no answer */
    assert_int_equal(key_at(p, DIALOG_GUARD_MS, "enter"), PANEL_DONE);
    panel_free(p);

    /* Once it has been answered to, nothing is passed over any more. */
    p = open_ask(&arena, &row);
    panel_wait(p);
    assert_int_equal(panel_keys(p, "3 a b c enter"), PANEL_DONE);
    panel_free(p);
}

/* Any keys, at any size: nothing is drawn where it does not belong, and an answer is one. */
static void any_keys(void **state)
{
    static const char *const keys[] = {
        "1",      "2",      "3",        "4",          "y",         "n",         "a",      "x",
        "up",     "down",   "left",     "right",      "home",      "end",       "esc",    "enter",
        "tab",    "space",  "pageup",   "pagedown",   "backspace", "shift+tab", "Z",      "ctrl+u",
        "ctrl+c", "delete", "shift+up", "shift+down", "12y",       "ctrl+g",    "ctrl+z", "alt+b",
    };
    uint32_t seed = 1;

    (void)state;
    for (size_t n = 0; n < 40 * ARRAY_LEN(ask_rows); n++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(ask_answer_release) struct ask_answer a = ASK_ANSWER_INIT;
        CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);
        struct panel *p = open_ask(&arena, &ask_rows[n % ARRAY_LEN(ask_rows)]);
        enum panel_state got = PANEL_OPEN;

        panel_wait(p);
        for (int i = 0; i < 60 && got == PANEL_OPEN; i++) {
            seed = seed * 1664525 + 1013904223;
            panel_text(p, 4 + (int)(seed >> 24) % 100, 1 + (int)(seed >> 16) % 40,
                       (enum panel_look)((seed >> 8) % 3), &shown);
            seed = seed * 1664525 + 1013904223;
            got = panel_keys(p, keys[(seed >> 20) % ARRAY_LEN(keys)]);
        }
        dialog_ask_answer(p, &a);
        if (got != PANEL_DONE)
            assert_false(a.allowed);
        (void)parsed(&arena, buf_str(&a.input));
        (void)parsed(&arena, buf_str(&a.permissions));
        panel_free(p);
    }
}

UNIT_TEST(dialog_ask)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),      cmocka_unit_test(looks),
        cmocka_unit_test(long_command), cmocka_unit_test(typed_ahead),
        cmocka_unit_test(too_small),    cmocka_unit_test(typed_words),
        cmocka_unit_test(pastes),       cmocka_unit_test(not_typed_ahead),
        cmocka_unit_test(any_keys),
    };

    clock_make_virtual(1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
