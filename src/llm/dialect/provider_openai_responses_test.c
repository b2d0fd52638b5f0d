/* OpenAI Responses: streams in, requests out. */
#include "llm/dialect/dialect_check.h"
#include "unit.h"

#define STOP(reason, figures) "stop " reason " " figures "\n"
#define NO_FIGURES "in=0 out=0 read=0 write=0/0 think=0 unknown"
#define ORIGIN "'provider':'openai','model':'gpt-5'"

static const struct model gpt = {
    .provider = STR_INIT("openai"),
    .name = STR_INIT("gpt-5"),
    .family = STR_INIT("gpt-5"),
    .known = true,
    .window = 400000,
    .default_output = 32000,
    .thinking = MODEL_THINKS_EFFORT,
    .efforts = 1 << EFFORT_MINIMAL | 1 << EFFORT_LOW | 1 << EFFORT_MEDIUM | 1 << EFFORT_HIGH,
    .images = true,
    .tools = true,
};
static const struct model plain = {
    .provider = STR_INIT("openai"), .name = STR_INIT("gpt-4.1"), .family = STR_INIT("gpt-4.1")};

#define CREATED "{'type':'response.created','response':{'id':'resp_1','model':'gpt-5'}}\n"
#define ADDED(n, item)                                                                             \
    "{'type':'response.output_item.added','output_index':" n ",'item':" item "}\n"
#define ITEM(n, item) "{'type':'response.output_item.done','output_index':" n ",'item':" item "}\n"
#define DELTA(what, n, text)                                                                       \
    "{'type':'response." what ".delta','output_index':" n ",'content_index':0,'delta':'" text "'}" \
    "\n"
#define COMPLETED                                                                                  \
    "{'type':'response.completed','response':{'id':'resp_1','status':'completed','output':[]}}\n"
#define COMPLETED_WITH(output)                                                                     \
    "{'type':'response.completed','response':{'id':'resp_1','status':'completed','output':" output \
    "}}\n"

#define MESSAGE(text)                                                                              \
    "{'id':'msg_1','type':'message','role':'assistant','status':'completed',"                      \
    "'content':[{'type':'output_text','text':'" text "','annotations':[]}]}"
#define CALL(name, arguments)                                                                      \
    "{'id':'fc_1','type':'function_call','call_id':'call_1','name':'" name                         \
    "','arguments':'" arguments "','status':'completed'}"

static const struct stream_case streams[] = {
    {"text",
     CREATED "{'type':'response.in_progress','response':{'id':'resp_1'}}\n" ADDED(
         "0",
         "{'type':'message','id':'msg_1','content':[]}") "{'type':'response.content_part.added','"
                                                         "output_index':0,'content_index':0,'part':"
                                                         "{}}\n" DELTA("output_text", "0", "Hel") DELTA(
                                                             "output_text", "0",
                                                             "lo") "{'type':'response.output_"
                                                                   "text.done','output_index':"
                                                                   "0,'content_index':0,"
                                                                   "'text':'Hello'}\n" ITEM(
                                                                       "0",
                                                                       MESSAGE(
                                                                           "Hello")) "{'type':'"
                                                                                     "response."
                                                                                     "completed"
                                                                                     "','"
                                                                                     "response'"
                                                                                     ":{'id':'"
                                                                                     "resp_1','"
                                                                                     "status':'"
                                                                                     "completed"
                                                                                     "',"
                                                                                     "'output':"
                                                                                     "[" MESSAGE(
                                                                                         "Hell"
                                                                                         "o") "],'"
                                                                                              "usag"
                                                                                              "e':{"
                                                                                              "'inp"
                                                                                              "ut_"
                                                                                              "toke"
                                                                                              "ns':"
                                                                                              "20,"
                                                                                              "'inp"
                                                                                              "ut_"
                                                                                              "toke"
                                                                                              "ns_"
                                                                                              "deta"
                                                                                              "ils'"
                                                                                              ":{'"
                                                                                              "cach"
                                                                                              "ed_"
                                                                                              "toke"
                                                                                              "ns':"
                                                                                              "15},"
                                                                                              "'out"
                                                                                              "put_"
                                                                                              "toke"
                                                                                              "ns':"
                                                                                              "7,'"
                                                                                              "outp"
                                                                                              "ut_"
                                                                                              "toke"
                                                                                              "ns_"
                                                                                              "deta"
                                                                                              "ils'"
                                                                                              ":{"
                                                                                              "'rea"
                                                                                              "soni"
                                                                                              "ng_"
                                                                                              "toke"
                                                                                              "ns':"
                                                                                              "4},'"
                                                                                              "tota"
                                                                                              "l_"
                                                                                              "toke"
                                                                                              "ns':"
                                                                                              "27}}"
                                                                                              "}\n",
     "start gpt-5\n0 text [Hello]\n" STOP("end_turn", "in=5 out=7 read=15 write=0/0 think=4")},
    {"reasoning, then a call",
     CREATED ADDED(
         "0",
         "{'type':'reasoning','id':'rs_1','summary':[]}") "{'type':'response.reasoning_summary_"
                                                          "part.added','output_index':0,'summary_"
                                                          "index':0}\n"
                                                          "{'type':'response.reasoning_summary_"
                                                          "text.delta','output_index':0,'summary_"
                                                          "index':0,"
                                                          "'delta':'one'}\n"
                                                          "{'type':'response.reasoning_summary_"
                                                          "text.delta','output_index':0,'summary_"
                                                          "index':1,"
                                                          "'delta':'two'}\n" ITEM(
                                                              "0",
                                                              "{'type':'reasoning','id':'rs_1','"
                                                              "status':null,'summary':[{"
                                                              "'type':'summary_text','text':'one'},"
                                                              "{'type':'summary_text',"
                                                              "'text':'two'}],'encrypted_content':'"
                                                              "E'}") ADDED("1", CALL("Bash", ""))
                                                              DELTA("function_call_arguments", "1",
                                                                    "{")
                                                                  DELTA("function_call_arguments",
                                                                        "1",
                                                                        "}") "{'type':'response."
                                                                             "function_call_"
                                                                             "arguments.done','"
                                                                             "output_index':1,"
                                                                             "'arguments':'{}'}"
                                                                             "\n" ITEM(
                                                                                 "1",
                                                                                 CALL("Bash", "{}"))
                                                                                 COMPLETED,
     "start gpt-5\n0 thinking [one\n\ntwo]\n1 tool_use Bash [{}]\n" STOP(
         "tool_use",
         NO_FIGURES) "data 0 "
                     "item={'type':'reasoning','summary':[{'type':'summary_text','text':'one'},"
                     "{'type':'summary_text','text':'two'}],'encrypted_content':'E'}\n"
                     "data 1 id='call_1'\n"},
    {"only finished items",
     CREATED ITEM("0", "{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'E'}")
         ITEM("1", MESSAGE("x")) ITEM("2", CALL("Bash", "{}")) COMPLETED,
     "start gpt-5\n0 thinking\n1 text [x]\n2 tool_use Bash [{}]\n" STOP(
         "tool_use",
         NO_FIGURES) "data 0 item={'type':'reasoning','summary':[],'encrypted_content':'E'}\n"
                     "data 2 id='call_1'\n"},
    {"only the end", COMPLETED_WITH("[" MESSAGE("x") "," CALL("Bash", "{}") "]"),
     "start gpt-5\n0 text [x]\n1 tool_use Bash [{}]\n" STOP("tool_use",
                                                            NO_FIGURES) "data 1 id='call_1'\n"},
    {"deltas without a start or an end",
     CREATED DELTA("output_text", "0", "x") DELTA("output_text", "0", "y") COMPLETED,
     "start gpt-5\n0 text [xy]\n" STOP("end_turn", NO_FIGURES)},
    {"the finished item has more than the deltas",
     CREATED DELTA("output_text", "0", "He") ITEM("0", MESSAGE("Hello")) COMPLETED,
     "start gpt-5\n0 text [Hello]\n" STOP("end_turn", NO_FIGURES)},
    {"the finished item says something else",
     CREATED DELTA("output_text", "0", "Ho") ITEM("0", MESSAGE("Hello")) COMPLETED,
     "start gpt-5\n0 text [Hello]\n" STOP("end_turn", NO_FIGURES)},
    {"the finished item is trimmed",
     CREATED DELTA("output_text", "0", "Hello \\n") ITEM("0", MESSAGE("Hello")) COMPLETED,
     "start gpt-5\n0 text [Hello]\n" STOP("end_turn", NO_FIGURES)},
    {"the finished arguments are others",
     CREATED ADDED("0", CALL("A", "")) DELTA("function_call_arguments", "0", "{ }")
         ITEM("0", CALL("A", "{\\\"x\\\":1}")) COMPLETED,
     "ERROR PROTOCOL: the finished item is not what its deltas said\n"},
    {"arguments written anew",
     CREATED ADDED("0", CALL("A", "")) DELTA("function_call_arguments", "0", "{ }")
         ITEM("0", CALL("A", "{}")) COMPLETED,
     "start gpt-5\n0 tool_use A [{ }]\n" STOP("tool_use", NO_FIGURES) "data 0 id='call_1'\n"},
    {"a character cut in two",
     CREATED DELTA("output_text", "0", "\\ud83d") DELTA("output_text", "0", "\\ude00")
         ITEM("0", MESSAGE("\\ud83d\\ude00")) COMPLETED,
     "start gpt-5\n0 text [\xf0\x9f\x98\x80]\n" STOP("end_turn", NO_FIGURES)},
    {"the name comes late",
     CREATED ADDED("0", "{'type':'function_call','call_id':'call_1'}")
         DELTA("function_call_arguments", "0", "{") ITEM("0", CALL("A", "{}")) COMPLETED,
     "start gpt-5\n0 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES) "data 0 id='call_1'\n"},
    {"no name at all", CREATED ITEM("0", "{'type':'function_call','call_id':'c'}") COMPLETED,
     "ERROR PROTOCOL: the server sent a tool call without a name\n"},
    {"two at once",
     CREATED ADDED("0", CALL("A", "")) ADDED("1", CALL("B", ""))
         DELTA("function_call_arguments", "1", "{") DELTA("function_call_arguments", "0", "{")
             ITEM("1", CALL("B", "{}")) DELTA("function_call_arguments", "0", "}")
                 ITEM("0", CALL("A", "{}")) ITEM("2", MESSAGE("x")) COMPLETED,
     "start gpt-5\n0 tool_use A [{}]\n1 tool_use B [{}]\n2 text [x]\n" STOP(
         "tool_use", NO_FIGURES) "data 0 id='call_1'\ndata 1 id='call_1'\n"},
    {"raw reasoning",
     CREATED DELTA("reasoning_text", "0", "hm")
         ITEM("0", "{'type':'reasoning','summary':[],'content':[{'type':'reasoning_text','text':"
                   "'hm'}]}") ITEM("1", MESSAGE("x")) COMPLETED,
     "start gpt-5\n0 thinking [hm]\n1 text [x]\n" STOP(
         "end_turn",
         NO_FIGURES) "data 0 "
                     "item={'type':'reasoning','summary':[],'content':[{'type':'reasoning_text',"
                     "'text':'hm'}]}\n"},
    {"reasoning that is nothing",
     CREATED ITEM("0", "{'type':'reasoning','summary':[]}") ITEM("1", MESSAGE("x")) COMPLETED,
     "start gpt-5\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},
    {"two parts, two phases",
     CREATED ITEM("0", "{'type':'message','phase':'commentary','content':[{'type':'output_text',"
                       "'text':'a'},{'type':'output_text','text':'b'}]}")
         ADDED("1", "{'type':'message','phase':'final_answer'}") DELTA("output_text", "1", "c")
             ITEM("1", MESSAGE("c")) COMPLETED,
     "start gpt-5\n0 text [a]\n1 text [b]\n2 text [c]\n" STOP(
         "end_turn", NO_FIGURES) "data 0 phase='commentary'\ndata 1 phase='commentary'\ndata 2 "
                                 "phase='final_answer'\n"},
    {"a refusal",
     CREATED DELTA(
         "refusal", "0",
         "I ") "{'type':'response.refusal.done','output_index':0,'content_index':0,'refusal':"
               "'I can not'}\n" ITEM("0",
                                     "{'type':'message','content':[{'type':'refusal','refusal':"
                                     "'I can not'}]}") COMPLETED,
     "start gpt-5\n0 text [I can not]\n" STOP("refusal", NO_FIGURES) "data 0 refusal=true\n"},
    {"a custom tool",
     CREATED ADDED(
         "0",
         "{'type':'custom_tool_call','call_id':'call_1','name':'patch','input':''}") "{'type':'"
                                                                                     "response."
                                                                                     "custom_tool_"
                                                                                     "call_input."
                                                                                     "delta','"
                                                                                     "output_index'"
                                                                                     ":0,'delta':'*"
                                                                                     "** "
                                                                                     "B'}\n" ITEM(
                                                                                         "0",
                                                                                         "{'type':'"
                                                                                         "custom_"
                                                                                         "tool_"
                                                                                         "call','"
                                                                                         "call_id':"
                                                                                         "'call_1',"
                                                                                         "'name':'"
                                                                                         "patch','"
                                                                                         "input':'*"
                                                                                         "** B'}")
                                                                                         COMPLETED,
     "start gpt-5\n0 tool_use patch [{'input':'*** B'}]\n" STOP(
         "tool_use", NO_FIGURES) "data 0 id='call_1' custom=true\n"},
    {"a hosted tool",
     CREATED ADDED(
         "0", "{'type':'web_search_call','id':'ws_1'}") "{'type':'response.web_search_call."
                                                        "searching','output_index':0}\n" ITEM(
                                                            "0", "{'type':'web_search_call','id':'"
                                                                 "ws_1','status':'completed'}")
                                                            ITEM("1", MESSAGE("x")) COMPLETED,
     "start gpt-5\n0 other raw={'type':'web_search_call','id':'ws_1','status':'completed'}\n1 text "
     "[x]\n" STOP("end_turn", NO_FIGURES)},
    {"what a search found",
     CREATED ITEM("0",
                  "{'type':'message','role':'assistant','content':[{'type':'output_text',"
                  "'text':'x','annotations':[{'type':'url_citation','url':'u','title':'t'}]}]}")
         COMPLETED,
     "start gpt-5\n0 text [x] raw=[{'type':'url_citation','url':'u','title':'t'}]\n" STOP(
         "end_turn", NO_FIGURES)},
    {"events nobody knows, and [DONE]",
     CREATED "{'type':'response.metadata','x':1}\n{'type':'keepalive'}\n[DONE]\n" COMPLETED,
     "start gpt-5\n" STOP("end_turn", NO_FIGURES)},

    /* Ends. */
    {"out of tokens",
     CREATED ADDED("0", CALL("A", ""))
         DELTA("function_call_arguments", "0",
               "{") "{'type':'response.incomplete','response':{'incomplete_details':{'reason':"
                    "'max_output_tokens'},'output':[]}}\n",
     "start gpt-5\n0 tool_use A [{] bad\n" STOP("max_tokens", NO_FIGURES) "data 0 id='call_1'\n"},
    {"incomplete, said to be completed",
     CREATED DELTA(
         "output_text", "0",
         "x") "{'type':'response.completed','response':{'status':'incomplete','output':[]}}\n",
     "start gpt-5\n0 text [x]\n" STOP("max_tokens", NO_FIGURES)},
    {"filtered",
     CREATED "{'type':'response.incomplete','response':{'incomplete_details':{'reason':"
             "'content_filter'}}}\n",
     "start gpt-5\n" STOP("refusal", NO_FIGURES)},
    {"cut", CREATED DELTA("output_text", "0", "x"),
     "ERROR PROTOCOL: the stream ended before the response was complete\n"},
    {"nothing", "", "ERROR PROTOCOL: the stream ended before the response was complete\n"},
    {"garbage", "{]\n", "ERROR PROTOCOL: the server sent something that is not a response event\n"},
    {"an impossible number", DELTA("output_text", "-1", "x"),
     "ERROR PROTOCOL: an output item has an impossible number\n"},
    {"a huge number", DELTA("output_text", "99999999999", "x"),
     "ERROR PROTOCOL: an output item has an impossible number\n"},
    {"an item that would be a call of ours in the transcript",
     ITEM("0", "{'type':'tool_use','id':'x','name':'Bash'}"),
     "ERROR PROTOCOL: the server sent an item of type tool_use\n"},
    {"an item without a type", ITEM("0", "{}"),
     "ERROR PROTOCOL: the server sent an output item without a type\n"},

/* Failures. */
#define FAILED(code, message)                                                                      \
    "{'type':'response.failed','response':{'status':'failed','error':{'code':'" code               \
    "','message':'" message "'}}}\n"
    {"window", FAILED("context_length_exceeded", "too long"), "ERROR CONTEXT_FULL: too long\n"},
    {"quota", FAILED("insufficient_quota", "pay"), "ERROR QUOTA: pay\n"},
    {"plan", FAILED("usage_not_included", "upgrade"), "ERROR QUOTA: upgrade\n"},
    {"rate", FAILED("rate_limit_exceeded", "Please try again in 11.054s."),
     "ERROR RETRY_LATER retry 11054ms: Please try again in 11.054s.\n"},
    {"rate, ms", FAILED("rate_limit_exceeded", "Please try again in 28ms."),
     "ERROR RETRY_LATER retry 28ms: Please try again in 28ms.\n"},
    {"overloaded", FAILED("server_is_overloaded", "busy"),
     "ERROR RETRY_LATER retry overloaded: busy\n"},
    {"slow down", FAILED("slow_down", "busy"), "ERROR RETRY_LATER retry overloaded: busy\n"},
    {"prompt", FAILED("invalid_prompt", "no"), "ERROR BAD_INPUT: no\n"},
    {"bio", FAILED("bio_policy", "no"), "ERROR DENIED: no\n"},
    {"cyber", FAILED("cyber_policy", "no"), "ERROR DENIED: no\n"},
    {"server", FAILED("server_error", "oops"), "ERROR NETWORK retry: oops\n"},
    {"unknown", FAILED("gremlins", "oops"), "ERROR NETWORK retry: oops\n"},
    {"failed without a word", "{'type':'response.failed','response':{}}\n",
     "ERROR NETWORK retry: the server did not say what went wrong\n"},
    {"completed, but failed inside",
     "{'type':'response.completed','response':{'status':'failed','output':[],'error':"
     "{'code':'rate_limit_exceeded','message':'Please try again in 28ms.'}}}\n",
     "ERROR RETRY_LATER retry 28ms: Please try again in 28ms.\n"},
    {"error event", "{'type':'error','code':'server_error','message':'oops','param':null}\n",
     "ERROR NETWORK retry: oops\n"},
    {"error event, nested", "{'type':'error','error':{'code':'slow_down','message':'busy'}}\n",
     "ERROR RETRY_LATER retry overloaded: busy\n"},
};

static const struct stream_case wholes[] = {
    {"a response",
     "{'id':'resp_1','object':'response','model':'gpt-5','status':'completed','error':null,"
     "'output':[" MESSAGE("x") "," CALL("A", "{}") "],'usage':{'input_tokens':3,"
                                                   "'output_tokens':1}}",
     "start gpt-5\n0 text [x]\n1 tool_use A [{}]\n" STOP(
         "tool_use", "in=3 out=1 read=0 write=0/0 think=0") "data 1 id='call_1'\n"},
    {"incomplete",
     "{'model':'m','status':'incomplete','incomplete_details':{'reason':'max_output_tokens'},"
     "'output':[" MESSAGE("x") "]}",
     "start m\n0 text [x]\n" STOP("max_tokens", NO_FIGURES)},
    {"failed", "{'status':'failed','error':{'code':'server_error','message':'oops'}}",
     "ERROR NETWORK retry: oops\n"},
    {"not finished", "{'status':'in_progress','output':[]}",
     "ERROR PROTOCOL: the server sent something that is not a whole response\n"},
    {"no response", "{}",
     "ERROR PROTOCOL: the server sent something that is not a whole response\n"},
};

static const struct llm_tool tools[] = {
    {STR_INIT("Bash"), STR_INIT("runs"), STR_INIT("{\"type\":\"object\"}")},
};

#define REASONING(content)                                                                         \
    "{'type':'thinking','thinking':'hm','signature':'','provider_data':{" ORIGIN                   \
    ",'item':{'type':'reasoning','summary':[]," content "}}}"
#define SEALED REASONING("'encrypted_content':'E'")
#define SEALED_ITEM "{'type':'reasoning','summary':[],'encrypted_content':'E'}"
#define TEXT "{'type':'text','text':'x'}"
#define TEXT_ITEM                                                                                  \
    "{'type':'message','role':'assistant','content':[{'type':'output_text','text':'x'}]}"
#define ASSISTANT(blocks) "[{'role':'assistant','content':[" blocks "]}]"

static char domain_a[] = "a.org";
static char domain_b[] = "b.org";
static char *domain_names[] = {domain_a, domain_b, NULL};
static const struct strv domains = {domain_names, 2, 2};

static const struct body_case bodies[] = {
    {"all of it",
     {.system = STR_INIT("be good"),
      .tools = tools,
      .tool_count = 1,
      .effort = EFFORT_LOW,
      .show_thinking = true,
      .tail = STR_INIT("t"),
      .user_id = STR_INIT("u")},
     &gpt,
     NULL,
     "",
     "{'model':'gpt-5','stream':true,'store':false,'include':['reasoning.encrypted_content'],"
     "'reasoning':{'effort':'low','summary':'auto'},'max_output_tokens':32000,"
     "'safety_identifier':'u','instructions':'be good','tools':[{'type':'function','name':'Bash',"
     "'description':'runs','parameters':{'type':'object'},'strict':false}],'input':[{'type':"
     "'message','role':'user','content':[{'type':'input_text','text':'hi'}]},{'type':'message',"
     "'role':'user','content':[{'type':'input_text','text':'t'}]}]}"},
    {"a model that does not think",
     {.no_stream = true, .effort = EFFORT_HIGH},
     &plain,
     NULL,
     "",
     "{'model':'gpt-4.1','stream':false,'store':false,'input':[{'type':'message','role':'user',"
     "'content':[{'type':'input_text','text':'hi'}]}]}"},
    {"named",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_NAMED, .choice_name = STR_INIT("Bash")},
     &gpt,
     NULL,
     "tool_choice",
     "{'type':'function','name':'Bash'}"},
    {"any",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_ANY},
     &gpt,
     NULL,
     "tool_choice",
     "'required'"},
    {"one at a time",
     {.tools = tools, .tool_count = 1, .no_parallel_calls = true},
     &gpt,
     NULL,
     "parallel_tool_calls",
     "false"},
    {"a search",
     {.search = &(struct llm_search){.allowed = &domains, .max_uses = 5}},
     &plain,
     NULL,
     "",
     "{'model':'gpt-4.1','stream':true,'store':false,'tools':[{'type':'web_search','filters':{"
     "'allowed_domains':['a.org','b.org']}}],'input':[{'type':'message','role':'user',"
     "'content':[{'type':'input_text','text':'hi'}]}]}"},
    {"a search beside tools",
     {.tools = tools, .tool_count = 1, .search = &(struct llm_search){.blocked = &domains}},
     &gpt,
     NULL,
     "tools.1",
     "{'type':'web_search'}"},
    {"a schema for the answer",
     {.output_schema = STR_INIT("{\"type\":\"object\"}")},
     &gpt,
     NULL,
     "text",
     "{'format':{'type':'json_schema','name':'answer','schema':{'type':'object'},'strict':false}}"},
    {"thinking off", {.thinking = THINKING_OFF}, &gpt, NULL, "reasoning", "{'effort':'minimal'}"},

    {"a turn goes back in order, without ids",
     {0},
     &gpt,
     "[{'role':'assistant','content':[" SEALED "," TEXT "," SEALED
     ",{'type':'tool_use','id':'toolu_1','name':'Bash','input':{'a':1},'provider_data':{" ORIGIN
     ",'id':'call_7'}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1',"
     "'content':'ok'},{'type':'text','text':'more'}]}]",
     "input",
     "[" SEALED_ITEM "," TEXT_ITEM "," SEALED_ITEM
     ",{'type':'function_call','call_id':'call_7','name':'Bash','arguments':'{\\'a\\':1}'},"
     "{'type':'function_call_output','call_id':'call_7','output':'ok'},{'type':'message','role':"
     "'user','content':[{'type':'input_text','text':'more'}]}]"},
    {"two thoughts before one item",
     {0},
     &gpt,
     ASSISTANT(SEALED "," SEALED "," TEXT),
     "input",
     "[" SEALED_ITEM "," SEALED_ITEM "," TEXT_ITEM "]"},
    {"reasoning without what it led to",
     {0},
     &gpt,
     ASSISTANT(TEXT "," SEALED),
     "input",
     "[" TEXT_ITEM "]"},
    {"a summary alone is of no use",
     {0},
     &gpt,
     ASSISTANT(REASONING("'x':1") "," TEXT),
     "input",
     "[" TEXT_ITEM "]"},
    {"raw reasoning is",
     {0},
     &gpt,
     ASSISTANT(REASONING("'content':[{'type':'reasoning_text','text':'hm'}]") "," TEXT),
     "input.0",
     "{'type':'reasoning','summary':[],'content':[{'type':'reasoning_text','text':'hm'}]}"},
    {"of another family nothing goes back",
     {0},
     &plain,
     ASSISTANT(SEALED ",{'type':'tool_use','id':'toolu_1','name':'A','input':{},'provider_data':"
                      "{" ORIGIN ",'id':'call_7'}}"),
     "input",
     "[{'type':'function_call','call_id':'toolu_1','name':'A','arguments':'{}'}]"},
    {"a hosted call that may go back",
     {0},
     &gpt,
     ASSISTANT(SEALED ",{'type':'web_search_call','id':'ws_1','status':'completed',"
                      "'provider_data':{" ORIGIN "}}," TEXT),
     "input",
     "[" SEALED_ITEM ",{'type':'web_search_call','status':'completed'}," TEXT_ITEM "]"},
    {"one that may not, and the reasoning before it",
     {0},
     &gpt,
     ASSISTANT(SEALED ",{'type':'mcp_call','id':'m_1','provider_data':{" ORIGIN "}}," TEXT),
     "input",
     "[" TEXT_ITEM "]"},
    {"one of another provider",
     {0},
     &gpt,
     ASSISTANT("{'type':'web_search_call','id':'ws_1'}," TEXT),
     "input",
     "[" TEXT_ITEM "]"},
    {"custom calls",
     {0},
     &gpt,
     "[{'role':'assistant','content':[{'type':'tool_use','id':'toolu_1','name':'patch','input':"
     "{'input':'*** B'},'provider_data':{" ORIGIN
     ",'id':'call_7','custom':true}}]},{'role':'user','content':[{'type':'tool_result',"
     "'tool_use_id':'toolu_1','is_error':true,'content':'no'}]}]",
     "input",
     "[{'type':'custom_tool_call','call_id':'call_7','name':'patch','input':'*** B'},"
     "{'type':'custom_tool_call_output','call_id':'call_7','output':'Error: no'}]"},
    {"refusal and phase",
     {0},
     &gpt,
     ASSISTANT("{'type':'text','text':'no','provider_data':{" ORIGIN
               ",'refusal':true,'phase':'final_answer'}}"),
     "input",
     "[{'type':'message','role':'assistant','content':[{'type':'refusal','refusal':'no'}],"
     "'phase':'final_answer'}]"},
    {"images in messages and results",
     {0},
     &gpt,
     "[{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':[{'type':"
     "'text','text':'see'},{'type':'image','source':{'type':'base64','media_type':'image/png',"
     "'data':'QUJD'}}]},{'type':'document','source':{'type':'base64','media_type':"
     "'application/pdf','data':'QUJD'}},{'type':'document','source':{'type':'url','url':"
     "'https://x/y.pdf'}}]}]",
     "input",
     "[{'type':'function_call_output','call_id':'toolu_1','output':[{'type':'input_text','text':"
     "'see'},{'type':'input_image','image_url':'data:image/png;base64,QUJD','detail':'auto'}]},"
     "{'type':'message','role':'user','content':[{'type':'input_file','filename':'document.pdf',"
     "'file_data':'data:application/pdf;base64,QUJD'},{'type':'input_file','file_url':"
     "'https://x/y.pdf'}]}]"},
    {"bad input has a stand-in",
     {0},
     &gpt,
     ASSISTANT("{'type':'tool_use','id':'t','name':'A','input':{},'input_text':'{oops'}"),
     "input.0.arguments",
     "'{\\'invalid_json\\':\\'{oops\\'}'"},
};

static void test_streams(void **state)
{
    (void)state;
    dialect_check_streams(&dialect_openai_responses, &(struct llm_request){.model = &gpt}, streams,
                          ARRAY_LEN(streams), /*whole=*/false);
}

static void test_wholes(void **state)
{
    (void)state;
    dialect_check_streams(&dialect_openai_responses, &(struct llm_request){.model = &gpt}, wholes,
                          ARRAY_LEN(wholes), /*whole=*/true);
}

static void test_bodies(void **state)
{
    (void)state;
    dialect_check_bodies(&dialect_openai_responses, bodies, ARRAY_LEN(bodies));
}

/* A server that names its events only in the event line. */
static void test_event_names(void **state)
{
    const struct llm_request req = {.model = &gpt};
    struct reply *reply = reply_new(NULL, NULL);
    struct decoder *d = dialect_openai_responses.decoder_new(&req, reply);
    struct llm_fault fault;
    struct message *m;

    (void)state;
    assert_int_equal(dialect_openai_responses.event(d, STR("response.output_text.delta"),
                                                    STR("{\"delta\":\"x\"}"), &fault, NULL),
                     0);
    assert_int_equal(
        dialect_openai_responses.event(d, STR("response.completed"), STR("{}"), &fault, NULL), 0);
    m = reply_take(reply);
    assert_non_null(m);
    assert_int_equal(m->len, 1);
    assert_true(str_is(m->blocks[0].text, "x"));
    message_unref(m);
    dialect_openai_responses.decoder_free(d);
    reply_free(reply);
}

static void test_path(void **state)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(100);

    (void)state;
    dialect_openai_responses.path(&(struct llm_request){.model = &gpt}, &path);
    assert_string_equal(buf_cstr(&path), "/responses");
}

UNIT_TEST(provider_openai_responses)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams), cmocka_unit_test(test_wholes),
        cmocka_unit_test(test_bodies),  cmocka_unit_test(test_event_names),
        cmocka_unit_test(test_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
