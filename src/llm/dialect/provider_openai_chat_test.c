/* Chat completions: streams of many servers in, requests to many servers out. */
#include "llm/dialect/dialect_check.h"
#include "unit.h"

#define STOP(reason, figures) "stop " reason " " figures "\n"
#define NO_FIGURES "in=0 out=0 read=0 write=0/0 think=0 unknown"
#define ORIGIN(provider, model) "'provider':'" provider "','model':'" model "'"

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
    .system_is_developer = true,
    .max_completion_tokens = true,
};
#define MODEL(p, n)                                                                                \
    {                                                                                              \
        .provider = STR_INIT(p), .name = STR_INIT(n), .family = STR_INIT(n), .known = true,        \
        .window = 1000, .default_output = 100, .tools = true                                       \
    }
static const struct model local = MODEL("local", "m");
static const struct model deepseek = MODEL("deepseek", "deepseek-v4-pro");
static const struct model glm = MODEL("zai", "glm-5.3");
static const struct model mistral = MODEL("gateway", "org/magistral-medium");
static const struct model router = MODEL("openrouter", "deepseek/deepseek-v4");
static const struct model llamacpp = MODEL("llamacpp", "m");
static const struct model qwen = MODEL("qwen", "qwen-max");

/* A chunk with this delta; a chunk that ends. */
#define D(delta) "{'id':'chatcmpl-1','model':'m','choices':[{'index':0,'delta':" delta "}]}\n"
#define END(reason)                                                                                \
    "{'id':'chatcmpl-1','model':'m','choices':[{'index':0,'delta':{},'finish_reason':'" reason     \
    "'}]}\n"
#define USAGE(usage) "{'id':'chatcmpl-1','model':'m','choices':[],'usage':" usage "}\n"
#define DONE "[DONE]\n"
#define CALL(piece) D("{'tool_calls':[" piece "]}")

static const struct stream_case streams[] = {
    {"text with usage behind the reason",
     D("{'role':'assistant','content':''}") D("{'content':'Hel'}") D("{'content':'lo'}") END("stop")
         USAGE("{'prompt_tokens':19,'completion_tokens':3,'total_tokens':22,"
               "'prompt_tokens_details':{'cached_tokens':16},"
               "'completion_tokens_details':{'reasoning_tokens':2}}") DONE,
     "start m\n0 text [Hello]\n" STOP("end_turn", "in=3 out=3 read=16 write=0/0 think=2")},
    {"no [DONE]", D("{'content':'Hi'}") END("stop"),
     "start m\n0 text [Hi]\n" STOP("end_turn", NO_FIGURES)},
    {"[DONE] without a reason", D("{'content':'Hi'}") DONE,
     "start m\n0 text [Hi]\n" STOP("end_turn", NO_FIGURES)},
    {"cut", D("{'content':'Hi'}"),
     "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"nothing", "", "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"only [DONE]", DONE, "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"events behind the end", D("{'content':'Hi'}") END("stop") DONE "garbage\n",
     "start m\n0 text [Hi]\n" STOP("end_turn", NO_FIGURES)},
    {"garbage", "<html>\n", "ERROR PROTOCOL: the server sent something that is not a chat chunk\n"},
    {"not an object", "[1]\n",
     "ERROR PROTOCOL: the server sent something that is not a chat chunk\n"},
    {"nulls everywhere",
     "{'id':null,'choices':[{'index':0,'delta':{'content':null,'tool_calls':null,'refusal':null,"
     "'reasoning_content':null,'function_call':null},'finish_reason':null}],'usage':null,"
     "'error':null}\n" D("{'content':'x'}") END("stop"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},
    {"an empty first chunk with filter results",
     "{'choices':[],'prompt_filter_results':[{}]}\n" D("{'content':'x'}") END("stop"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},
    {"other choices are not ours",
     "{'choices':[{'index':1,'delta':{'content':'no'}},{'index':0,'delta':{'content':'yes'}}]}"
     "\n" END("stop"),
     "start m\n0 text [yes]\n" STOP("end_turn", NO_FIGURES)},

    /* Calls. */
    {"a call in fragments",
     CALL("{'index':0,'id':'call_1','type':'function','function':{'name':'Bash','arguments':''}}")
         CALL("{'index':0,'function':{'arguments':'{'}}")
             CALL("{'index':0,'function':{'arguments':'}'}}") END("tool_calls") DONE,
     "start m\n0 tool_use Bash [{}]\n" STOP("tool_use", NO_FIGURES) "data 0 id='call_1'\n"},
    {"a whole call in one chunk, finish_reason stop",
     CALL("{'index':0,'id':'c','function':{'name':'Bash','arguments':'{}'}}") END("stop") DONE,
     "start m\n0 tool_use Bash [{}]\n" STOP("tool_use", NO_FIGURES) "data 0 id='c'\n"},
    {"arguments as an object",
     CALL("{'index':0,'id':'c','function':{'name':'Bash','arguments':{'a':[1,2]}}}")
         END("tool_calls"),
     "start m\n0 tool_use Bash [{'a':[1,2]}]\n" STOP("tool_use", NO_FIGURES) "data 0 id='c'\n"},
    {"no arguments", CALL("{'index':0,'id':'c','function':{'name':'Now'}}") END("tool_calls"),
     "start m\n0 tool_use Now\n" STOP("tool_use", NO_FIGURES) "data 0 id='c'\n"},
    {"index always 0, ids differ",
     CALL("{'index':0,'id':'a','function':{'name':'A','arguments':'{'}}")
         CALL("{'index':0,'function':{'arguments':'}'}}") CALL(
             "{'index':0,'id':'b','function':{'name':'B','arguments':'{}'}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n1 tool_use B [{}]\n" STOP(
         "tool_use", NO_FIGURES) "data 0 id='a'\ndata 1 id='b'\n"},
    {"index always 0, interleaved by id",
     CALL("{'index':0,'id':'a','function':{'name':'A','arguments':'{'}}")
         CALL("{'index':0,'id':'b','function':{'name':'B','arguments':'{'}}")
             CALL("{'index':0,'id':'a','function':{'arguments':'}'}}")
                 CALL("{'index':0,'id':'b','function':{'arguments':'}'}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n1 tool_use B [{}]\n" STOP(
         "tool_use", NO_FIGURES) "data 0 id='a'\ndata 1 id='b'\n"},
    {"no index",
     CALL("{'id':'a','function':{'name':'A','arguments':'{'}}")
         CALL("{'function':{'arguments':'}'}}")
             CALL("{'id':'b','function':{'name':'B','arguments':'{}'}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n1 tool_use B [{}]\n" STOP(
         "tool_use", NO_FIGURES) "data 0 id='a'\ndata 1 id='b'\n"},
    {"no id",
     CALL("{'index':0,'function':{'name':'A','arguments':'{}'}}")
         CALL("{'index':1,'function':{'name':'B','arguments':'{}'}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n1 tool_use B [{}]\n" STOP("tool_use", NO_FIGURES)},
    {"neither index nor id, one after the other",
     CALL("{'function':{'name':'A','arguments':'{}'}}")
         CALL("{'function':{'name':'A','arguments':'{}'}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n1 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES)},
    {"neither index nor id, in one chunk",
     CALL("{'function':{'name':'A','arguments':''}},{'function':{'name':'A','arguments':'{}'}}")
         END("tool_calls"),
     "start m\n0 tool_use A\n1 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES)},
    {"the name in every chunk",
     CALL("{'index':0,'id':'c','function':{'name':'A','arguments':'{'}}")
         CALL("{'index':0,'id':'c','function':{'name':'A','arguments':'}'}}")
             CALL("{'index':0,'id':'c','function':{'name':'A','arguments':''}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES) "data 0 id='c'\n"},
    {"the name in every chunk, no id",
     CALL("{'index':0,'function':{'name':'A','arguments':'{'}}")
         CALL("{'index':0,'function':{'name':'A','arguments':'}'}}")
             CALL("{'index':0,'function':{'name':'A','arguments':''}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES)},
    {"interleaved by index",
     CALL("{'index':0,'id':'a','function':{'name':'A','arguments':'{'}}")
         CALL("{'index':1,'id':'b','function':{'name':'B','arguments':'['}}") CALL(
             "{'index':0,'function':{'arguments':'}'}},{'index':1,'function':{'arguments':']'}}")
             END("tool_calls"),
     "start m\n0 tool_use A [{}]\n1 tool_use B [[]] bad\n" STOP(
         "tool_use", NO_FIGURES) "data 0 id='a'\ndata 1 id='b'\n"},
    {"text, then a call",
     D("{'content':'Let me see.'}")
         CALL("{'index':0,'id':'c','function':{'name':'A','arguments':'{}'}}") END("tool_calls"),
     "start m\n0 text [Let me see.]\n1 tool_use A [{}]\n" STOP("tool_use",
                                                               NO_FIGURES) "data 1 id='c'\n"},
    {"white space before a call",
     D("{'content':'\\n\\n'}") CALL("{'id':'c','function':{'name':'A','arguments':'{}'}}")
         END("tool_calls"),
     "start m\n0 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES) "data 0 id='c'\n"},
    {"half a tag before a call",
     D("{'content':'<thi'}") CALL("{'id':'c','function':{'name':'A','arguments':'{}'}}")
         D("{'content':'nk>'}") END("tool_calls"),
     "start m\n0 text [<thi]\n1 tool_use A [{}]\n2 text [nk>]\n" STOP(
         "tool_use", NO_FIGURES) "data 1 id='c'\n"},
    {"a call without a name",
     CALL("{'index':0,'id':'c','function':{'arguments':'{}'}}") END("stop"),
     "ERROR PROTOCOL: the server sent a tool call without a name\n"},
    {"a cut call",
     CALL("{'index':0,'id':'c','function':{'name':'A','arguments':'{'}}") END("length"),
     "start m\n0 tool_use A [{] bad\n" STOP("max_tokens", NO_FIGURES) "data 0 id='c'\n"},
    {"tool_calls, but none came", D("{'content':'x'}") END("tool_calls"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},
    {"the old function_call",
     D("{'function_call':{'name':'A','arguments':'{'}}") D("{'function_call':{'arguments':'}'}}")
         END("function_call"),
     "start m\n0 tool_use A [{}]\n" STOP("tool_use", NO_FIGURES)},
    {"Google's signature",
     CALL("{'index':0,'id':'c','extra_content':{'google':{'thought_signature':'S'}},"
          "'function':{'name':'A','arguments':'{}'}}") END("tool_calls"),
     "start m\n0 tool_use A [{}]\n" STOP(
         "tool_use",
         NO_FIGURES) "data 0 id='c' extra_content={'google':{'thought_signature':'S'}}\n"},

    /* Reasoning. */
    {"reasoning_content",
     D("{'reasoning_content':'I th'}") D("{'reasoning_content':'ink'}") D("{'content':'x'}")
         END("stop"),
     "start m\n0 thinking [I think]\n1 text [x]\n" STOP(
         "end_turn", NO_FIGURES) "data 0 field='reasoning_content'\n"},
    {"reasoning", D("{'reasoning':'hm','content':''}") D("{'content':'x'}") END("stop"),
     "start m\n0 thinking [hm]\n1 text [x]\n" STOP("end_turn",
                                                   NO_FIGURES) "data 0 field='reasoning'\n"},
    {"reasoning_text", D("{'reasoning_text':'hm'}") D("{'content':'x'}") END("stop"),
     "start m\n0 thinking [hm]\n1 text [x]\n" STOP("end_turn",
                                                   NO_FIGURES) "data 0 field='reasoning_text'\n"},
    {"the first that is not empty",
     D("{'reasoning_content':'','reasoning':'hm','reasoning_text':'no'}") D("{'content':'x'}")
         END("stop"),
     "start m\n0 thinking [hm]\n1 text [x]\n" STOP("end_turn",
                                                   NO_FIGURES) "data 0 field='reasoning'\n"},
    {"reasoning_details in pieces",
     D("{'reasoning':'a','reasoning_details':[{'type':'reasoning.text','text':'a','index':0,"
       "'format':'f','signature':null}]}")
         D("{'reasoning':'b','reasoning_details':[{'type':'reasoning.text','text':'b','index':0,"
           "'signature':'S'}]}")
             D("{'reasoning_details':[{'type':'reasoning.encrypted','data':'X','index':1}]}")
                 D("{'content':'x'}") END("stop"),
     "start m\n0 thinking [ab]\n1 text [x]\n" STOP(
         "end_turn",
         NO_FIGURES) "data 0 field='reasoning'\n"
                     "data 1 reasoning_details=[{'type':'reasoning.text','index':0,'format':'f',"
                     "'signature':'S','text':'ab'},{'type':'reasoning.encrypted','index':1,'data':'"
                     "X'}]\n"},
    {"reasoning_details alone",
     D("{'reasoning_details':[{'type':'reasoning.summary','summary':'s'}]}") D("{'content':'x'}")
         END("stop"),
     "start m\n0 thinking [s]\n1 text [x]\n" STOP(
         "end_turn",
         NO_FIGURES) "data 1 reasoning_details=[{'type':'reasoning.summary','summary':'s'}]\n"},
    {"Mistral's content",
     D("{'content':[{'type':'thinking','thinking':[{'type':'text','text':'hm'}]}]}")
         D("{'content':[{'type':'text','text':'x'}]}") D("{'content':'y'}") END("stop"),
     "start m\n0 thinking [hm]\n1 text [xy]\n" STOP("end_turn",
                                                    NO_FIGURES) "data 0 field='content'\n"},
    {"tags in one piece", D("{'content':'<think>\\nhm\\n</think>\\n\\nx'}") END("stop"),
     "start m\n0 thinking [hm\n]\n1 text [x]\n" STOP("end_turn", NO_FIGURES)},
    {"tags cut anywhere",
     D("{'content':'\\n <'}") D("{'content':'thi'}") D("{'content':'nk>h'}") D("{'content':'m</'}")
         D("{'content':'b></thin'}") D("{'content':'k>\\n'}") D("{'content':'x <think>'}")
             END("stop"),
     "start m\n0 thinking [hm</b>]\n1 text [x <think>]\n" STOP("end_turn", NO_FIGURES)},
    {"a tag further on is text", D("{'content':'a <think>b</think>'}") END("stop"),
     "start m\n0 text [a <think>b</think>]\n" STOP("end_turn", NO_FIGURES)},
    {"half a tag is text", D("{'content':'<thi'}") END("stop"),
     "start m\n0 text [<thi]\n" STOP("end_turn", NO_FIGURES)},
    {"a tag never closed", D("{'content':'<think>hm</thin'}") END("length"),
     "start m\n0 thinking [hm</thin]\n" STOP("max_tokens", NO_FIGURES)},
    {"no thoughts between the tags", D("{'content':'<think>\\n\\n</think>\\n\\nx'}") END("stop"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},

    /* Ends. */
    {"length", D("{'content':'x'}") END("length"),
     "start m\n0 text [x]\n" STOP("max_tokens", NO_FIGURES)},
    {"length because the window is full",
     D("{'content':'x'}") END("length") USAGE("{'prompt_tokens':990,'completion_tokens':10}"),
     "start m\n0 text [x]\n" STOP("model_context_window_exceeded",
                                  "in=990 out=10 read=0 write=0/0 think=0")},
    {"length, in another vendor's word", D("{'content':'x'}") END("max_tokens"),
     "start m\n0 text [x]\n" STOP("max_tokens", NO_FIGURES)},
    {"length, in yet another's", D("{'content':'x'}") END("MAX_TOKENS"),
     "start m\n0 text [x]\n" STOP("max_tokens", NO_FIGURES)},
    {"Mistral's window is full", D("{'content':'x'}") END("model_length"),
     "start m\n0 text [x]\n" STOP("model_context_window_exceeded", NO_FIGURES)},
    {"content_filter", D("{'content':'x'}") END("content_filter"),
     "start m\n0 text [x]\n" STOP("refusal", NO_FIGURES)},
    {"refusal", END("refusal"), "start m\n" STOP("refusal", NO_FIGURES)},
    {"sensitive", END("sensitive"), "start m\n" STOP("refusal", NO_FIGURES)},
    {"a refusal", D("{'refusal':'I can'}") D("{'refusal':' not'}") END("stop"),
     "start m\n0 text [I can not]\n" STOP("refusal", NO_FIGURES)},
    {"window exceeded", D("{'content':'x'}") END("model_context_window_exceeded"),
     "start m\n0 text [x]\n" STOP("model_context_window_exceeded", NO_FIGURES)},
    {"error", D("{'content':'x'}") END("error"),
     "ERROR NETWORK retry: the server broke off its answer: error\n"},
    {"network_error", END("network_error"),
     "ERROR NETWORK retry: the server broke off its answer: network_error\n"},
    {"abort", END("abort"), "ERROR NETWORK retry: the server broke off its answer: abort\n"},
    {"insufficient_system_resource", END("insufficient_system_resource"),
     "ERROR RETRY_LATER retry overloaded: the server broke off its answer: "
     "insufficient_system_resource\n"},
    {"a reason nobody knows", D("{'content':'x'}") END("eos"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},

    {"the whole answer again, behind its pieces",
     D("{'content':'x'}") "{'choices':[{'delta':null,'message':{'content':'x'},"
                          "'finish_reason':'stop'}]}\n",
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},

    /* Errors inside a stream. */
    {"an error object", D("{'content':'x'}") "{'error':{'message':'boom','type':'server_error'}}\n",
     "ERROR NETWORK retry: boom\n"},
    {"an error with a status",
     "{'error':{'code':429,'message':'Rate limited, try again in 2s'},"
     "'choices':[{'delta':{},'finish_reason':'error'}]}\n",
     "ERROR RETRY_LATER retry 2000ms: Rate limited, try again in 2s\n"},
    {"an error without a word", "{'error':' '}\n",
     "ERROR NETWORK retry: the server did not say what went wrong\n"},
    {"an error that is a text", "{'error':'out of memory'}\n",
     "ERROR NETWORK retry: out of memory\n"},
    {"a flat error",
     "{'object':'error','message':'maximum context length is 10 tokens','type':'BadRequestError',"
     "'code':400}\n",
     "ERROR CONTEXT_FULL: maximum context length is 10 tokens\n"},
    {"quota", "{'error':{'message':'pay','code':'insufficient_quota'}}\n", "ERROR QUOTA: pay\n"},
    {"an error of the server behind a router",
     "{'error':{'message':'Provider returned error','code':502,'metadata':{'raw':'upstream died'}},"
     "'choices':[{'delta':{},'finish_reason':'error'}]}\n",
     "ERROR NETWORK retry: Provider returned error: upstream died\n"},

    /* Usage. */
    {"usage on every chunk, the last counts",
     "{'model':'m','choices':[{'delta':{'content':'x'}}],'usage':{'prompt_tokens':5,"
     "'completion_tokens':1}}\n"
     "{'choices':[{'delta':{},'finish_reason':'stop'}],'usage':{'completion_tokens':4}}\n",
     "start m\n0 text [x]\n" STOP("end_turn", "in=5 out=4 read=0 write=0/0 think=0")},
    {"usage in the choice",
     "{'model':'m','choices':[{'delta':{'content':'x'},'finish_reason':'stop',"
     "'usage':{'prompt_tokens':5,'completion_tokens':1,'cached_tokens':2}}]}\n",
     "start m\n0 text [x]\n" STOP("end_turn", "in=3 out=1 read=2 write=0/0 think=0")},
    {"hit and miss",
     D("{'content':'x'}") END("stop")
         USAGE("{'prompt_tokens':10,'completion_tokens':1,'prompt_cache_hit_tokens':7,"
               "'prompt_cache_miss_tokens':3}"),
     "start m\n0 text [x]\n" STOP("end_turn", "in=3 out=1 read=7 write=0/0 think=0")},
    {"timings only",
     D("{'content':'x'}") "{'choices':[{'delta':{},'finish_reason':'stop'}],"
                          "'timings':{'cache_n':6,'prompt_n':2,'predicted_n':4}}\n",
     "start m\n0 text [x]\n" STOP("end_turn", "in=2 out=4 read=6 write=0/0 think=0")},
    {"usage and timings",
     D("{'content':'x'}") "{'choices':[{'delta':{},'finish_reason':'stop'}],'usage':"
                          "{'prompt_tokens':8,'completion_tokens':4},"
                          "'timings':{'cache_n':6,'prompt_n':2,'predicted_n':4}}\n",
     "start m\n0 text [x]\n" STOP("end_turn", "in=2 out=4 read=6 write=0/0 think=0")},
    {"more cached than sent",
     D("{'content':'x'}") END("stop") USAGE(
         "{'prompt_tokens':1,'completion_tokens':-5,'prompt_tokens_details':{'cached_tokens':9}}"),
     "start m\n0 text [x]\n" STOP("end_turn", "in=0 out=0 read=9 write=0/0 think=0")},
    {"figures that are all 0 are none",
     D("{'content':'x'}") END("stop")
         USAGE("{'prompt_tokens':0,'completion_tokens':0,'total_tokens':0}"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},
    {"figures beyond all sense do not overflow",
     D("{'content':'x'}") END("length")
         USAGE("{'prompt_tokens':9223372036854775807,'completion_tokens':9223372036854775807,"
               "'prompt_cache_hit_tokens':9223372036854775807,"
               "'prompt_cache_miss_tokens':9223372036854775807,"
               "'prompt_tokens_details':{'cache_write_tokens':9223372036854775807}}"),
     "start m\n0 text [x]\n" STOP(
         "model_context_window_exceeded",
         "in=0 out=1000000000000000 read=1000000000000000 write=1000000000000000/0 think=0")},
    {"progress",
     "{'id':'c','model':'m','choices':[],'prompt_progress':{'total':9,'cache':1,'processed':5}}"
     "\n" D("{'content':'x'}") END("stop"),
     "start m\n0 text [x]\n" STOP("end_turn", NO_FIGURES)},
};

static const struct stream_case wholes[] = {
    {"text and calls",
     "{'id':'c','model':'m','choices':[{'index':0,'message':{'role':'assistant','content':'x',"
     "'reasoning_content':'hm','tool_calls':[{'id':'a','type':'function','function':{'name':'A',"
     "'arguments':'{}'}},{'id':'b','type':'function','function':{'name':'B','arguments':''}}]},"
     "'finish_reason':'tool_calls'}],'usage':{'prompt_tokens':2,'completion_tokens':1}}",
     "start m\n0 thinking [hm]\n1 text [x]\n2 tool_use A [{}]\n3 tool_use B\n" STOP(
         "tool_use", "in=2 out=1 read=0 write=0/0 think=0") "data 0 field='reasoning_content'\n"
                                                            "data 2 id='a'\ndata 3 id='b'\n"},
    {"an error", "{'error':{'message':'no','code':500}}", "ERROR NETWORK retry: no\n"},
    {"no choices", "{'id':'c'}",
     "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"HTML", "<html>", "ERROR PROTOCOL: the server sent something that is not a chat chunk\n"},
};

static const struct fault_case faults[] = {
    {"bad key", 401, "{'error':{'message':'Incorrect API key','code':'invalid_api_key'}}", "",
     "AUTH: Incorrect API key"},
    {"no such model", 404, "{'error':{'message':'no model x','code':'model_not_found'}}", "",
     "NOT_FOUND: no model x"},
    {"rate limit", 429, "{'error':{'message':'slow','code':'rate_limit_exceeded'}}", "7",
     "RETRY_LATER retry 7000ms: slow"},
    {"rate limit in words", 429,
     "{'error':{'message':'Please try again in 11.054s.','type':'tokens',"
     "'code':'rate_limit_exceeded'}}",
     "", "RETRY_LATER retry 11054ms: Please try again in 11.054s."},
    {"quota", 429, "{'error':{'message':'You exceeded it','code':'insufficient_quota'}}", "3",
     "QUOTA 3000ms: You exceeded it"},
    {"no credit", 402, "{'error':{'code':402,'message':'Insufficient credits'}}", "",
     "QUOTA: Insufficient credits"},
    {"OpenAI's window", 400,
     "{'error':{'message':'This model has a maximum context length of 8192 tokens',"
     "'type':'invalid_request_error','code':'context_length_exceeded'}}",
     "", "CONTEXT_FULL: This model has a maximum context length of 8192 tokens"},
    {"llama.cpp's window", 400,
     "{'error':{'code':400,'message':'request (9 tokens) exceeds the available context size (8 "
     "tokens), try increasing it','type':'exceed_context_size_error','n_ctx':8}}",
     "",
     "CONTEXT_FULL: request (9 tokens) exceeds the available context size (8 tokens), try "
     "increasing it"},
    {"Groq's window", 413,
     "{'error':{'message':'Request too large for model x, please reduce the length of the messages "
     "or completion','code':'rate_limit_exceeded'}}",
     "",
     "CONTEXT_FULL: Request too large for model x, please reduce the length of the messages or "
     "completion"},
    {"an empty 400", 400, "", "",
     "CONTEXT_FULL: HTTP 400 without an explanation; some servers answer so when the conversation "
     "is too long"},
    {"vLLM, flat", 400,
     "{'object':'error','message':'bad thing','type':'BadRequestError','code':400}", "",
     "BAD_INPUT: bad thing"},
    {"Ollama, a text", 500, "{'error':'llama runner process has terminated'}", "",
     "NETWORK retry: llama runner process has terminated"},
    {"Ollama without tools", 400, "{'error':{'message':'gemma does not support tools'}}", "",
     "UNSUPPORTED: gemma does not support tools"},
    {"FastAPI", 422, "{'detail':[{'loc':['body'],'msg':'field required'}]}", "",
     "BAD_INPUT: field required"},
    {"FastAPI, a text", 404, "{'detail':'Not Found'}", "", "NOT_FOUND: Not Found"},
    {"llama.cpp loading", 503,
     "{'error':{'code':503,'message':'Loading model','type':'unavailable_error'}}", "",
     "NETWORK retry: Loading model"},
    {"a type that says less than the status", 529,
     "{'error':{'message':'busy','type':'server_error'}}", "",
     "RETRY_LATER retry overloaded: busy"},
    {"overloaded", 503, "{'error':{'message':'busy','code':'server_is_overloaded'}}", "",
     "RETRY_LATER retry overloaded: busy"},
    {"HTML", 502, "<html><title>502 Bad Gateway</title></html>", "",
     "NETWORK retry: HTTP 502 with an HTML page: 502 Bad Gateway"},
    {"nothing", 504, "", "", "NETWORK retry: HTTP 504 without an explanation"},
    {"stream_options", 400, "{'error':{'message':'unknown field stream_options'}}", "",
     "BAD_INPUT drop: unknown field stream_options"},
    {"stream_options, pydantic", 422,
     "{'detail':[{'loc':['body','stream_options'],'msg':'extra fields not permitted'}]}", "",
     "BAD_INPUT drop: extra fields not permitted"},
    {"a router that tells what was said behind it", 429,
     "{'error':{'message':'Provider returned error','code':429,'metadata':{'raw':'glm is "
     "rate-limited upstream. Please retry in 3s','provider_name':'X'}}}",
     "",
     "RETRY_LATER retry 3000ms: Provider returned error: glm is rate-limited upstream. Please "
     "retry in 3s"},
    {"and in that server's JSON", 400,
     "{'error':{'message':'Provider returned error','code':400,'metadata':{'raw':'{\\'type\\':"
     "\\'error\\',\\'error\\':{\\'type\\':\\'invalid_request_error\\',\\'message\\':\\'prompt is "
     "too "
     "long: 2 tokens > 1 maximum\\'}}'}}}",
     "", "CONTEXT_FULL: Provider returned error: prompt is too long: 2 tokens > 1 maximum"},
    {"and without anything in it", 400,
     "{'error':{'message':'Provider returned error','code':400,'metadata':{'raw':'','x':1}}}", "",
     "BAD_INPUT: Provider returned error"},
    {"policy", 400, "{'error':{'message':'no','code':'cyber_policy'}}", "", "DENIED: no"},
    {"timeout", 408, "{'error':{'code':408,'message':'late'}}", "", "NETWORK retry: late"},
};

static const struct llm_tool tools[] = {
    {STR_INIT("Bash"), STR_INIT("runs"), STR_INIT("{\"type\":\"object\"}")},
    {STR_INIT("Bad"), STR_INIT(""), STR_INIT("{nonsense")},
};

/* A turn with a call, as this provider and model answered it. */
#define TURN(origin, thinking_data)                                                                \
    "[{'role':'user','content':'go'},"                                                             \
    "{'role':'assistant','content':[{'type':'thinking','thinking':'hm','signature':''"             \
    "," thinking_data                                                                              \
    "},{'type':'text','text':'ok'},{'type':'tool_use','id':'toolu_1','name':'Bash',"               \
    "'input':{'command':'ls'},'provider_data':{" origin ",'id':'call_9'}}]},"                      \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':'a'}]}]"
#define DATA(origin, field) "'provider_data':{" origin ",'field':'" field "'}"
#define CALLED(id)                                                                                 \
    "'tool_calls':[{'id':'" id "','type':'function','function':{'name':'Bash',"                    \
    "'arguments':'{\\'command\\':\\'ls\\'}'}}]"

static const struct body_case bodies[] = {
    {"all of it",
     {.system = STR_INIT("be good"), .tools = tools, .tool_count = 1, .effort = EFFORT_HIGH},
     &gpt,
     NULL,
     "",
     "{'model':'gpt-5','stream':true,'stream_options':{'include_usage':true},"
     "'max_completion_tokens':32000,'reasoning_effort':'high','tools':[{'type':'function',"
     "'function':{'name':'Bash','description':'runs','parameters':{'type':'object'}}}],"
     "'messages':[{'role':'developer','content':'be good'},{'role':'user','content':'hi'}]}"},
    {"a local server",
     {.system = STR_INIT("be good"), .max_tokens = 50, .effort = EFFORT_HIGH},
     &local,
     NULL,
     "",
     "{'model':'m','stream':true,'stream_options':{'include_usage':true},'max_tokens':50,"
     "'messages':[{'role':'system','content':'be good'},{'role':'user','content':'hi'}]}"},
    {"not streamed", {.no_stream = true}, &local, NULL, "stream_options", NULL},
    {"stream false", {.no_stream = true}, &local, NULL, "stream", "false"},
    {"options refused", {.no_stream_options = true}, &local, NULL, "stream_options", NULL},
    {"a schema that is none",
     {.tools = tools, .tool_count = 2},
     &local,
     NULL,
     "tools.1.function.parameters",
     "{'type':'object','properties':{}}"},
    {"none",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_NONE},
     &local,
     NULL,
     "tool_choice",
     "'none'"},
    {"any",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_ANY},
     &local,
     NULL,
     "tool_choice",
     "'required'"},
    {"named",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_NAMED, .choice_name = STR_INIT("Bash")},
     &local,
     NULL,
     "tool_choice",
     "{'type':'function','function':{'name':'Bash'}}"},
    {"a forced call turns thinking off where it has a switch",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_NAMED, .choice_name = STR_INIT("Bash")},
     &deepseek,
     NULL,
     "thinking",
     "{'type':'disabled'}"},
    {"a call that may be made does not",
     {.tools = tools, .tool_count = 1},
     &deepseek,
     NULL,
     "thinking",
     NULL},
    {"GLM knows no choice",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_ANY},
     &glm,
     NULL,
     "tool_choice",
     NULL},
    {"GLM streams arguments", {.tools = tools, .tool_count = 1}, &glm, NULL, "tool_stream", "true"},
    {"one at a time",
     {.tools = tools, .tool_count = 1, .no_parallel_calls = true},
     &local,
     NULL,
     "parallel_tool_calls",
     "false"},
    {"the user", {.user_id = STR_INIT("u")}, &local, NULL, "user", "'u'"},
    {"a schema for the answer",
     {.output_schema = STR_INIT("{\"type\":\"object\"}")},
     &local,
     NULL,
     "response_format",
     "{'type':'json_schema','json_schema':{'name':'answer','schema':{'type':'object'}}}"},
    {"progress is asked for", {0}, &llamacpp, NULL, "return_progress", "true"},
    {"only where it is known", {0}, &local, NULL, "return_progress", NULL},

    /* Thinking. */
    {"off, by type",
     {.thinking = THINKING_OFF},
     &deepseek,
     NULL,
     "thinking",
     "{'type':'disabled'}"},
    {"on, by type", {.thinking = THINKING_BUDGET}, &glm, NULL, "thinking", "{'type':'enabled'}"},
    {"off, at Qwen", {.thinking = THINKING_OFF}, &qwen, NULL, "enable_thinking", "false"},
    {"on, at Qwen",
     {.thinking = THINKING_BUDGET, .thinking_budget = 9},
     &qwen,
     NULL,
     "thinking_budget",
     "9"},
    {"off, by template",
     {.thinking = THINKING_OFF},
     &llamacpp,
     NULL,
     "chat_template_kwargs",
     "{'enable_thinking':false}"},
    {"off, at OpenRouter",
     {.thinking = THINKING_OFF},
     &router,
     NULL,
     "reasoning",
     "{'effort':'none'}"},
    {"budget, at OpenRouter",
     {.thinking = THINKING_BUDGET, .thinking_budget = 9},
     &router,
     NULL,
     "reasoning",
     "{'max_tokens':9}"},
    {"off, at OpenAI, is the least there is",
     {.thinking = THINKING_OFF},
     &gpt,
     NULL,
     "reasoning_effort",
     "'minimal'"},
    {"too much effort", {.effort = EFFORT_MAX}, &gpt, NULL, "reasoning_effort", "'high'"},
    {"no effort is off", {.effort = EFFORT_NONE}, &glm, NULL, "thinking", "{'type':'disabled'}"},

    /* Messages. */
    {"neighbours become one, the tail behind them",
     {.tail = STR_INIT("goal: \"x\"")},
     &local,
     "[{'role':'user','content':'a'},{'role':'user','content':[{'type':'text','text':'b'},"
     "{'type':'text','text':''},{'type':'text','text':'c'}]}]",
     "messages",
     "[{'role':'user','content':'a\\n\\nb\\n\\nc\\n\\ngoal: \\'x\\''}]"},
    {"the tail alone behind an answer",
     {.tail = STR_INIT("t")},
     &local,
     "[{'role':'user','content':'a'},{'role':'assistant','content':'b'}]",
     "messages",
     "[{'role':'user','content':'a'},{'role':'assistant','content':'b'},"
     "{'role':'user','content':'t'}]"},
    {"images",
     {.tail = STR_INIT("t")},
     &gpt,
     "[{'role':'user','content':'a'},{'role':'user','content':[{'type':'image','source':{'type':"
     "'base64','media_type':'image/png','data':'QUJD'}},{'type':'image','source':{'type':'url',"
     "'url':'https://x/y.png'}}]}]",
     "messages",
     "[{'role':'user','content':[{'type':'text','text':'a'},{'type':'image_url','image_url':{'url':"
     "'data:image/png;base64,QUJD','detail':'auto'}},{'type':'image_url','image_url':{'url':"
     "'https://x/y.png','detail':'auto'}},{'type':'text','text':'t'}]}]"},
    {"images for a model without eyes",
     {0},
     &local,
     "[{'role':'user','content':[{'type':'text','text':'a'},{'type':'image','source':{'type':"
     "'base64','media_type':'image/png','data':'QUJD'}}]}]",
     "messages.0.content",
     "'a\\n\\n[image left out: m takes no images]'"},
    {"a document",
     {0},
     &gpt,
     "[{'role':'user','content':[{'type':'document','title':'a.pdf','source':{'type':'base64',"
     "'media_type':'application/pdf','data':'QUJD'}}]}]",
     "messages.0.content",
     "[{'type':'file','file':{'filename':'a.pdf','file_data':'data:application/"
     "pdf;base64,QUJD'}}]"},
    {"a document for a server that takes none",
     {0},
     &local,
     "[{'role':'user','content':[{'type':'document','title':'a.pdf','source':{'type':'base64',"
     "'media_type':'application/pdf','data':'QUJD'}},{'type':'document','source':{'type':'text',"
     "'media_type':'text/plain','data':'plain'}}]}]",
     "messages.0.content",
     "'[document left out: m takes no documents]\\n\\nplain'"},
    {"results, errors and their images",
     {0},
     &gpt,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[{'type':'tool_use','id':"
     "'toolu_1','name':'A','input':{}},{'type':'tool_use','id':'toolu_2','name':'B','input':{}}]},"
     "{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':[{'type':"
     "'text','text':'x'},{'type':'text','text':'y'},{'type':'image','source':{'type':'base64',"
     "'media_type':'image/png','data':'QUJD'}}]},{'type':'tool_result','tool_use_id':'toolu_2',"
     "'is_error':true,'content':'bad'},{'type':'text','text':'note'}]}]",
     "messages",
     "[{'role':'user','content':'go'},{'role':'assistant','content':'','tool_calls':[{'id':"
     "'toolu_1','type':'function','function':{'name':'A','arguments':'{}'}},{'id':'toolu_2',"
     "'type':'function','function':{'name':'B','arguments':'{}'}}]},"
     "{'role':'tool','tool_call_id':'toolu_1','content':'x\\ny\\n[image: in the next message]'},"
     "{'role':'tool','tool_call_id':'toolu_2','content':'Error: bad'},"
     "{'role':'user','content':[{'type':'image_url','image_url':{'url':"
     "'data:image/png;base64,QUJD','detail':'auto'}},{'type':'text','text':'note'}]}]"},
    {"own reasoning and ids go back",
     {0},
     &local,
     TURN(ORIGIN("local", "m"), DATA(ORIGIN("local", "m"), "reasoning")),
     "messages",
     "[{'role':'user','content':'go'},{'role':'assistant','content':'ok','reasoning':'hm'," CALLED(
         "call_9") "},{'role':'tool','tool_call_id':'call_9','content':'a'}]"},
    {"of another provider nothing does",
     {0},
     &local,
     TURN(ORIGIN("other", "m"), DATA(ORIGIN("other", "m"), "reasoning")),
     "messages",
     "[{'role':'user','content':'go'},{'role':'assistant','content':'ok'," CALLED(
         "toolu_1") "},{'role':'tool','tool_call_id':'toolu_1','content':'a'}]"},
    {"DeepSeek must have it",
     {0},
     &deepseek,
     TURN(ORIGIN("other", "m"), DATA(ORIGIN("other", "m"), "reasoning")),
     "messages.1",
     "{'role':'assistant','content':'ok','reasoning_content':''," CALLED("toolu_1") "}"},
    {"DeepSeek gets its own",
     {0},
     &deepseek,
     TURN(ORIGIN("deepseek", "deepseek-v4-pro"),
          DATA(ORIGIN("deepseek", "deepseek-v4-pro"), "reasoning_content")),
     "messages.1",
     "{'role':'assistant','content':'ok','reasoning_content':'hm'," CALLED("call_9") "}"},
    {"but not without calls",
     {0},
     &deepseek,
     "[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'thinking','thinking':"
     "'hm','signature':''," DATA(ORIGIN("deepseek", "deepseek-v4-pro"),
                                 "reasoning_content") "},{'type':'text','text':'x'}]}]",
     "messages.1",
     "{'role':'assistant','content':'x'}"},
    {"thinking from tags is dropped",
     {0},
     &local,
     TURN(ORIGIN("local", "m"), "'provider_data':{" ORIGIN("local", "m") "}"),
     "messages.1",
     "{'role':'assistant','content':'ok'," CALLED("call_9") "}"},
    {"Mistral's thinking, and its ids",
     {0},
     &mistral,
     TURN(ORIGIN("other", "m"), DATA(ORIGIN("gateway", "org/magistral-medium"), "content")),
     "messages.1.content",
     "[{'type':'thinking','thinking':[{'type':'text','text':'hm'}]},{'type':'text','text':'ok'}]"},
    {"details go back unchanged",
     {0},
     &router,
     "[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'thinking','thinking':"
     "'hm','signature':''," DATA(ORIGIN("openrouter", "deepseek/deepseek-v4"),
                                 "reasoning") "},{'type':'text','text':'x','provider_data':"
                                              "{" ORIGIN("openrouter",
                                                         "deepseek/deepseek-v4") ",'reasoning_"
                                                                                 "details':[{'type'"
                                                                                 ":'t','data':'X'}]"
                                                                                 "}}]}]",
     "messages.1",
     "{'role':'assistant','content':'x','reasoning_details':[{'type':'t','data':'X'}]}"},
    {"Google's signature goes back",
     {0},
     &local,
     "[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'tool_use','id':'t',"
     "'name':'A','input':{},'provider_data':{" ORIGIN(
         "local", "m") ",'id':'c','extra_content':{'google':{'thought_signature':'S'}}}}]}]",
     "messages.1.tool_calls.0",
     "{'id':'c','type':'function','function':{'name':'A','arguments':'{}'},"
     "'extra_content':{'google':{'thought_signature':'S'}}}"},
    {"a name that no server takes",
     {0},
     &local,
     "[{'role':'assistant','content':[{'type':'tool_use','id':'t','name':'fs.read file','input':"
     "{}}]}]",
     "messages.0.tool_calls.0.function.name",
     "'fs_read_file'"},
    {"bad input has a stand-in",
     {0},
     &local,
     "[{'role':'assistant','content':[{'type':'tool_use','id':'t','name':'A','input':{},"
     "'input_text':'{oops'}]}]",
     "messages.0.tool_calls.0.function.arguments",
     "'{\\'invalid_json\\':\\'{oops\\'}'"},
    {"an answer of thoughts alone is left out",
     {0},
     &local,
     "[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'thinking','thinking':"
     "'hm','signature':'s'}]},{'role':'user','content':'b'}]",
     "messages",
     "[{'role':'user','content':'a\\n\\nb'}]"},
    {"blocks of others are left out",
     {0},
     &local,
     "[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'server_tool_use',"
     "'id':'x'},{'type':'text','text':'b'}]}]",
     "messages.1",
     "{'role':'assistant','content':'b'}"},
    {"half a character",
     {.tail = STR_INIT("\xed\xa0\xbd|\xff")},
     &local,
     NULL,
     "messages.0.content",
     "'hi\\n\\n\xef\xbf\xbd|\xef\xbf\xbd'"},
};

static void test_streams(void **state)
{
    (void)state;
    dialect_check_streams(&dialect_openai_chat, &(struct llm_request){.model = &local}, streams,
                          ARRAY_LEN(streams), /*whole=*/false);
}

static void test_wholes(void **state)
{
    (void)state;
    dialect_check_streams(&dialect_openai_chat, &(struct llm_request){.model = &local}, wholes,
                          ARRAY_LEN(wholes), /*whole=*/true);
}

static void test_silent_overflow(void **state)
{
    static const struct stream_case rows[] = {
        {"z.ai cuts the prompt", D("{'content':'x'}") END("stop") USAGE("{'prompt_tokens':1001}"),
         "start m\n0 text [x]\n" STOP("model_context_window_exceeded",
                                      "in=1001 out=0 read=0 write=0/0 think=0")},
    };

    (void)state;
    dialect_check_streams(&dialect_openai_chat, &(struct llm_request){.model = &glm}, rows,
                          ARRAY_LEN(rows), /*whole=*/false);
}

static int note_progress(const struct llm_event *ev, void *arg, struct err *err)
{
    (void)err;
    if (ev->kind == LLM_WAITING)
        buf_addf(arg, "%lld/%lld (%lld)\n", (long long)ev->processed, (long long)ev->total,
                 (long long)ev->cached);
    return 0;
}

static void test_progress(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    const struct llm_request req = {.model = &llamacpp};
    struct reply *reply = reply_new(note_progress, &text);
    struct decoder *d = dialect_openai_chat.decoder_new(&req, reply);
    struct llm_fault fault;

    (void)state;
    assert_int_equal(dialect_openai_chat.event(
                         d, STR(""),
                         STR("{\"prompt_progress\":{\"total\":9,\"cache\":1,\"processed\":5}}"),
                         &fault, NULL),
                     0);
    assert_string_equal(buf_cstr(&text), "5/9 (1)\n");
    dialect_openai_chat.decoder_free(d);
    reply_free(reply);
}

static void test_faults(void **state)
{
    struct llm_fault fault;

    (void)state;
    dialect_check_faults(&dialect_openai_chat, faults, ARRAY_LEN(faults));
    dialect_openai_chat.fault(500, STR("{}"), STR(""), STR(""), STR("false"), &fault);
    assert_false(fault.retry);
    dialect_openai_chat.fault(400, STR("{}"), STR(""), STR(""), STR("true"), &fault);
    assert_true(fault.retry);
}

static void test_bodies(void **state)
{
    (void)state;
    dialect_check_bodies(&dialect_openai_chat, bodies, ARRAY_LEN(bodies));
}

/* Mistral takes nothing else, and the result must carry the id of its call. */
static void test_short_ids(void **state)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(dialect_check_history_free) struct dialect_check_history history = {0};
    const struct json *v = NULL;
    struct str id;

    (void)state;
    dialect_check_history(
        &history, dialect_check_text("[{'role':'assistant','content':[{'type':'tool_use','id':"
                                     "'toolu_1','name':'A','input':{}}]},{'role':'user','content':"
                                     "[{'type':'tool_result','tool_use_id':'toolu_1'}]}]",
                                     &arena));
    const struct llm_request req = {
        .model = &mistral, .messages = history.list.ptr, .message_count = history.list.len};
    assert_int_equal(dialect_openai_chat.body(&req, &body, NULL), 0);
    assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
    id = json_str(json_path(v, "messages.0.tool_calls.0.id"));
    assert_int_equal(id.len, 9);
    for (size_t i = 0; i < id.len; i++)
        assert_true((id.ptr[i] >= '0' && id.ptr[i] <= '9') ||
                    (id.ptr[i] >= 'a' && id.ptr[i] <= 'z'));
    assert_true(str_eq(json_str(json_path(v, "messages.1.tool_call_id")), id));
}

static void test_too_big(void **state)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *text = mem_alloc((size_t)33 << 20);
    struct err err;

    (void)state;
    memset(text, 'x', (size_t)33 << 20);
    const struct llm_request req = {.model = &local, .tail = str_make(text, (size_t)33 << 20)};
    assert_int_equal(dialect_openai_chat.body(&req, &body, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "32 MB is the most"));
}

static void test_head(void **state)
{
    CLEANUP(strv_release) struct strv headers = STRV_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(100);
    const struct llm_request req = {.model = &local};

    (void)state;
    dialect_openai_chat.headers(&req, STR(""), false, &headers);
    assert_int_equal(headers.len, 0);
    dialect_openai_chat.headers(&req, STR("k"), false, &headers);
    assert_int_equal(headers.len, 1);
    assert_string_equal(headers.ptr[0], "authorization: Bearer k");
    dialect_openai_chat.path(&req, &path);
    assert_string_equal(buf_cstr(&path), "/chat/completions");
}

UNIT_TEST(provider_openai_chat)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),   cmocka_unit_test(test_wholes),
        cmocka_unit_test(test_progress),  cmocka_unit_test(test_silent_overflow),
        cmocka_unit_test(test_faults),    cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_short_ids), cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
