/* Gemini: streams in, requests out. */
#include "llm/dialect/dialect_check.h"

#include "llm/dialect/gemini.h"
#include "unit.h"

#define STOP(reason, figures) "stop " reason " " figures "\n"
#define NO_FIGURES "in=0 out=0 read=0 write=0/0 think=0 unknown"
#define ORIGIN "'provider':'gemini','model':'gemini-3-pro'"

static const struct model three = {
    .provider = STR_INIT("gemini"),
    .name = STR_INIT("gemini-3-pro"),
    .family = STR_INIT("gemini-3"),
    .known = true,
    .window = 1000000,
    .default_output = 32000,
    .thinking = MODEL_THINKS_EFFORT,
    .efforts = 1 << EFFORT_LOW | 1 << EFFORT_MEDIUM | 1 << EFFORT_HIGH,
    .images = true,
    .tools = true,
};
static const struct model two = {
    .provider = STR_INIT("gemini"),
    .name = STR_INIT("models/gemini-2.5-flash"),
    .family = STR_INIT("gemini-2.5"),
    .known = true,
    .thinking = MODEL_THINKS_BUDGET,
    .tools = true,
};
static const struct model two_pro = {
    .provider = STR_INIT("gemini"),
    .name = STR_INIT("gemini-2.5-pro"),
    .family = STR_INIT("gemini-2.5"),
    .known = true,
    .thinking = MODEL_THINKS_BUDGET,
};
static const struct model gemma = {
    .provider = STR_INIT("gemini"), .name = STR_INIT("gemma-4"), .family = STR_INIT("gemma")};

/* An event with these parts. */
#define PARTS(parts)                                                                               \
    "{'candidates':[{'index':0,'content':{'role':'model','parts':[" parts "]}}],"                  \
    "'modelVersion':'g','responseId':'r'}\n"
#define END(reason) "{'candidates':[{'index':0,'finishReason':'" reason "'}],'modelVersion':'g'}\n"

static const struct stream_case streams[] = {
    {"text",
     PARTS("{'text':'Hel'}") PARTS(
         "{'text':'lo'}") "{'candidates':[{'content':{'parts':[{'text':'!'}]},'finishReason':'STOP'"
                          "}],"
                          "'usageMetadata':{'promptTokenCount':19,'cachedContentTokenCount':10,"
                          "'candidatesTokenCount':3,'thoughtsTokenCount':18,'totalTokenCount':40}}"
                          "\n",
     "start g\n0 text [Hello!]\n" STOP("end_turn", "in=9 out=21 read=10 write=0/0 think=18")},
    {"usage on several events, the last counts",
     "{'candidates':[{'content':{'parts':[{'text':'x'}]}}],'usageMetadata':{'promptTokenCount':9,"
     "'candidatesTokenCount':1},'modelVersion':'g'}\n{'candidates':[{'finishReason':'STOP'}],"
     "'usageMetadata':{'candidatesTokenCount':5,'toolUsePromptTokenCount':2}}\n",
     "start g\n0 text [x]\n" STOP("end_turn", "in=11 out=5 read=0 write=0/0 think=0")},
    {"figures beyond all sense do not overflow",
     "{'candidates':[{'content':{'parts':[{'text':'x'}]},'finishReason':'STOP'}],'usageMetadata':{"
     "'promptTokenCount':9223372036854775807,'toolUsePromptTokenCount':9223372036854775807,"
     "'candidatesTokenCount':9223372036854775807,'thoughtsTokenCount':9223372036854775807},"
     "'modelVersion':'g'}\n",
     "start g\n0 text [x]\n" STOP(
         "end_turn",
         "in=2000000000000000 out=2000000000000000 read=0 write=0/0 think=1000000000000000")},
    {"thoughts, text, a call",
     PARTS("{'text':'h','thought':true}") PARTS("{'text':'m','thought':true}")
         PARTS("{'text':'ok'},{'functionCall':{'id':'a1','name':'Bash','args':{'command':'ls'}},"
               "'thoughtSignature':'S'}") END("STOP"),
     "start g\n0 thinking [hm]\n1 text [ok]\n2 tool_use Bash [{'command':'ls'}]\n" STOP(
         "tool_use", NO_FIGURES) "data 2 id='a1' thoughtSignature='S'\n"},
    {"parallel calls, no ids",
     PARTS("{'functionCall':{'name':'A','args':{}},'thoughtSignature':'S'},"
           "{'functionCall':{'name':'A'}}") END("STOP"),
     "start g\n0 tool_use A [{}]\n1 tool_use A\n" STOP("tool_use",
                                                       NO_FIGURES) "data 0 thoughtSignature='S'\n"},
    {"a signed part is a block of its own",
     PARTS("{'text':'a'}") PARTS("{'text':'b','thoughtSignature':'S'}") PARTS("{'text':'c'}")
         END("STOP"),
     "start g\n0 text [a]\n1 text [b]\n2 text [c]\n" STOP(
         "end_turn", NO_FIGURES) "data 1 thoughtSignature='S'\n"},
    {"a signature behind the text",
     PARTS("{'text':'a'}") PARTS("{'text':'','thoughtSignature':'S'}") END("STOP"),
     "start g\n0 text [a]\n" STOP("end_turn", NO_FIGURES) "data 0 trailingSignature='S'\n"},
    {"a signature behind nothing",
     PARTS("{'text':'','thoughtSignature':'S'}") PARTS("{'text':'a'}") END("STOP"),
     "start g\n0 text [a]\n" STOP("end_turn", NO_FIGURES)},
    {"a signed thought",
     PARTS("{'text':'hm','thought':true,'thoughtSignature':'S'}") PARTS("{'text':'a'}") END("STOP"),
     "start g\n0 thinking [hm]\n1 text [a]\n" STOP("end_turn",
                                                   NO_FIGURES) "data 0 thoughtSignature='S'\n"},
    {"parts of other kinds",
     PARTS("{'executableCode':{'language':'PYTHON','code':'1'}}") PARTS("{}") PARTS("{'text':'a'}")
         END("STOP"),
     "start g\n0 other "
     "raw={'type':'gemini_part','part':{'executableCode':{'language':'PYTHON','code':"
     "'1'}}}\n1 text [a]\n" STOP("end_turn", NO_FIGURES)},
    {"what a search found",
     "{'candidates':[{'content':{'parts':[{'text':'a'}]},'finishReason':'STOP','groundingMetadata':"
     "{'webSearchQueries':['q'],'groundingChunks':[{'web':{'uri':'u','title':'t'}}]}}],"
     "'modelVersion':'g'}\n",
     "start g\n0 text [a] raw=[{'web':{'uri':'u','title':'t'}}]\n" STOP("end_turn", NO_FIGURES)},
    {"what a search found, behind a signature",
     "{'candidates':[{'content':{'parts':[{'text':'a','thoughtSignature':'S'}]},'finishReason':"
     "'STOP','groundingMetadata':{'groundingChunks':[{'web':{'uri':'u'}}]}}],'modelVersion':'g'}\n",
     "start g\n0 text [a]\n" STOP(
         "end_turn",
         NO_FIGURES) "data 0 thoughtSignature='S' groundingChunks=[{'web':{'uri':'u'}}]\n"},
    {"arguments that are no object", PARTS("{'functionCall':{'name':'A','args':[1]}}") END("STOP"),
     "start g\n0 tool_use A [[1]] bad\n" STOP("tool_use", NO_FIGURES)},
    {"a call without a name", PARTS("{'functionCall':{'args':{}}}"),
     "ERROR PROTOCOL: the server sent a tool call without a name\n"},
    {"arguments in pieces", PARTS("{'functionCall':{'name':'A','partialArgs':[]}}"),
     "ERROR PROTOCOL: the server sent arguments in pieces, unasked\n"},

    /* Ends. */
    {"out of tokens", PARTS("{'text':'a'}") END("MAX_TOKENS"),
     "start g\n0 text [a]\n" STOP("max_tokens", NO_FIGURES)},
    {"out of tokens while thinking", END("MAX_TOKENS"), "start g\n" STOP("max_tokens", NO_FIGURES)},
    {"unsafe", PARTS("{'text':'a'}") END("SAFETY"),
     "start g\n0 text [a]\n" STOP("refusal", NO_FIGURES)},
    {"recited", END("RECITATION"), "start g\n" STOP("refusal", NO_FIGURES)},
    {"bad call", PARTS("{'text':'a'}") END("MALFORMED_FUNCTION_CALL"),
     "ERROR NETWORK retry: the model made a bad call: MALFORMED_FUNCTION_CALL\n"},
    {"unexpected call", END("UNEXPECTED_TOOL_CALL"),
     "ERROR NETWORK retry: the model made a bad call: UNEXPECTED_TOOL_CALL\n"},
    {"too many calls", END("TOO_MANY_TOOL_CALLS"),
     "ERROR NETWORK retry: the model made a bad call: TOO_MANY_TOOL_CALLS\n"},
    {"other, with an answer", PARTS("{'text':'a'}") END("OTHER"),
     "start g\n0 text [a]\n" STOP("end_turn", NO_FIGURES)},
    {"other, without", END("OTHER"), "ERROR NETWORK retry: the model answered nothing\n"},
    {"nothing said", PARTS("{'text':''}") END("STOP"),
     "ERROR NETWORK retry: the model answered nothing\n"},
    {"blocked prompt", "{'promptFeedback':{'blockReason':'SAFETY'},'modelVersion':'g'}\n",
     "ERROR DENIED: the prompt was blocked: SAFETY\n"},
    {"cut", PARTS("{'text':'a'}"),
     "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"an empty stream", "", "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"garbage", "<html>\n", "ERROR PROTOCOL: the server sent something that is not JSON\n"},
    {"a number", "7\n", "ERROR PROTOCOL: the server sent something that is not an answer\n"},
    {"an error",
     "{'error':{'code':503,'message':'The model is overloaded.','status':"
     "'UNAVAILABLE'}}\n",
     "ERROR RETRY_LATER retry overloaded: The model is overloaded.\n"},
    {"an error without a word", "{'error':{'code':500}}\n",
     "ERROR NETWORK retry: HTTP 500: {'code':500}\n"},
};

static const struct stream_case wholes[] = {
    {"an answer",
     "{'candidates':[{'content':{'parts':[{'text':'a'}]},'finishReason':'STOP'}],'usageMetadata':"
     "{'promptTokenCount':1,'candidatesTokenCount':1},'modelVersion':'g'}",
     "start g\n0 text [a]\n" STOP("end_turn", "in=1 out=1 read=0 write=0/0 think=0")},
    {"a list of them",
     "[{'candidates':[{'content':{'parts':[{'text':'a'}]}}],'modelVersion':'g'},{'candidates':[{"
     "'content':{'parts':[{'text':'b'}]},'finishReason':'STOP'}]}]",
     "start g\n0 text [ab]\n" STOP("end_turn", NO_FIGURES)},
    {"an error in a list", "[{'error':{'code':400,'message':'no','status':'INVALID_ARGUMENT'}}]",
     "ERROR BAD_INPUT: no\n"},
    {"nothing", "{}", "ERROR PROTOCOL: the stream ended before the answer was complete\n"},
    {"HTML", "<html>", "ERROR PROTOCOL: the server sent something that is not JSON\n"},
};

static const struct fault_case faults[] = {
    {"bad argument", 400, "{'error':{'code':400,'message':'no','status':'INVALID_ARGUMENT'}}", "",
     "BAD_INPUT: no"},
    {"bad key as 400", 400,
     "{'error':{'code':400,'message':'API key not valid.','status':'INVALID_ARGUMENT','details':[{"
     "'@type':'type.googleapis.com/google.rpc.ErrorInfo','reason':'API_KEY_INVALID'}]}}",
     "", "AUTH: API key not valid."},
    {"denied", 403, "{'error':{'code':403,'message':'no','status':'PERMISSION_DENIED'}}", "",
     "AUTH: no"},
    {"no such model", 404, "[{'error':{'code':404,'message':'no','status':'NOT_FOUND'}}]", "",
     "NOT_FOUND: no"},
    {"per minute", 429,
     "{'error':{'code':429,'message':'You exceeded your current quota','status':"
     "'RESOURCE_EXHAUSTED','details':[{'@type':'type.googleapis.com/google.rpc.QuotaFailure',"
     "'violations':[{'quotaId':'GenerateRequestsPerMinutePerProject'}]},{'@type':"
     "'type.googleapis.com/google.rpc.RetryInfo','retryDelay':'34s'}]}}",
     "", "RETRY_LATER retry 34000ms: You exceeded your current quota"},
    {"per day", 429,
     "{'error':{'code':429,'message':'You exceeded your current quota','status':"
     "'RESOURCE_EXHAUSTED','details':[{'@type':'type.googleapis.com/google.rpc.QuotaFailure',"
     "'violations':[{'quotaId':'GenerateRequestsPerDayPerProject-FreeTier'}]}]}}",
     "", "QUOTA: You exceeded your current quota"},
    {"overloaded", 503,
     "{'error':{'code':503,'message':'The model is overloaded.','status':'UNAVAILABLE'}}", "",
     "RETRY_LATER retry overloaded: The model is overloaded."},
    {"internal", 500, "{'error':{'code':500,'message':'oops','status':'INTERNAL'}}", "",
     "NETWORK retry: oops"},
    {"late", 504, "{'error':{'code':504,'message':'late','status':'DEADLINE_EXCEEDED'}}", "",
     "NETWORK retry: late"},
    {"window", 400,
     "{'error':{'code':400,'message':'The input token count (9) exceeds the maximum number of "
     "tokens allowed (8).','status':'INVALID_ARGUMENT'}}",
     "",
     "CONTEXT_FULL: The input token count (9) exceeds the maximum number of tokens allowed (8)."},
    {"HTML", 502, "<html><title>502</title>", "", "NETWORK retry: HTTP 502 with an HTML page: 502"},
};

static const struct llm_tool tools[] = {
    {STR_INIT("Bash"), STR_INIT("runs"), STR_INIT("{\"type\":\"object\"}")},
};

#define USE(id, data)                                                                              \
    "{'type':'tool_use','id':'" id "','name':'Bash','input':{'a':1},'provider_data':{" data "}}"
#define RESULT(id) "{'type':'tool_result','tool_use_id':'" id "','content':'ok'}"

static const struct body_case bodies[] = {
    {"all of it",
     {.system = STR_INIT("be good"),
      .tools = tools,
      .tool_count = 1,
      .effort = EFFORT_LOW,
      .show_thinking = true,
      .tail = STR_INIT("t")},
     &three,
     NULL,
     "",
     "{'systemInstruction':{'parts':[{'text':'be good'}]},'tools':[{'functionDeclarations':[{"
     "'name':'Bash','description':'runs','parametersJsonSchema':{'type':'object'}}]}],'toolConfig':"
     "{'functionCallingConfig':{'mode':'AUTO'}},'generationConfig':{'maxOutputTokens':32000,"
     "'thinkingConfig':{'thinkingLevel':'LOW','includeThoughts':true}},'contents':[{'role':'user',"
     "'parts':[{'text':'hi'},{'text':'t'}]}]}"},
    {"a plain model",
     {0},
     &gemma,
     NULL,
     "",
     "{'generationConfig':{},'contents':[{'role':'user','parts':[{'text':'hi'}]}]}"},
    {"named",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_NAMED, .choice_name = STR_INIT("Bash")},
     &three,
     NULL,
     "toolConfig",
     "{'functionCallingConfig':{'mode':'ANY','allowedFunctionNames':['Bash']}}"},
    {"none",
     {.tools = tools, .tool_count = 1, .choice = CHOICE_NONE},
     &three,
     NULL,
     "toolConfig.functionCallingConfig.mode",
     "'NONE'"},
    {"a search",
     {.search = &(struct llm_search){0}},
     &gemma,
     NULL,
     "",
     "{'tools':[{'googleSearch':{}}],'generationConfig':{},'contents':[{'role':'user','parts':[{"
     "'text':'hi'}]}]}"},
    {"a search beside tools",
     {.tools = tools, .tool_count = 1, .search = &(struct llm_search){0}},
     &three,
     NULL,
     "tools",
     "[{'googleSearch':{}},{'functionDeclarations':[{'name':'Bash','description':'runs',"
     "'parametersJsonSchema':{'type':'object'}}]}]"},
    {"a schema for the answer",
     {.output_schema = STR_INIT("{\"type\":\"object\"}")},
     &gemma,
     NULL,
     "generationConfig",
     "{'responseMimeType':'application/json','responseJsonSchema':{'type':'object'}}"},

/* Thinking: levels from 3 on, budgets before. */
#define THINKING_CONFIG "generationConfig.thinkingConfig"
    {"3, as it likes", {0}, &three, NULL, THINKING_CONFIG, "{'includeThoughts':false}"},
    {"3, off",
     {.thinking = THINKING_OFF},
     &three,
     NULL,
     THINKING_CONFIG,
     "{'thinkingLevel':'LOW','includeThoughts':false}"},
    {"3, most",
     {.effort = EFFORT_MAX},
     &three,
     NULL,
     THINKING_CONFIG,
     "{'thinkingLevel':'HIGH','includeThoughts':false}"},
    {"3, a budget",
     {.thinking = THINKING_BUDGET, .thinking_budget = 4000},
     &three,
     NULL,
     THINKING_CONFIG,
     "{'thinkingLevel':'MEDIUM','includeThoughts':false}"},
    {"2.5, as it likes",
     {.show_thinking = true},
     &two,
     NULL,
     THINKING_CONFIG,
     "{'includeThoughts':true}"},
    {"2.5, off",
     {.thinking = THINKING_OFF},
     &two,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':0,'includeThoughts':false}"},
    {"2.5 pro cannot be off",
     {.thinking = THINKING_OFF},
     &two_pro,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':128,'includeThoughts':false}"},
    {"2.5 pro cannot be off by effort either",
     {.effort = EFFORT_NONE},
     &two_pro,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':128,'includeThoughts':false}"},
    {"2.5, a budget",
     {.thinking = THINKING_BUDGET, .thinking_budget = 4000},
     &two,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':4000,'includeThoughts':false}"},
    {"2.5, more than it takes",
     {.thinking = THINKING_BUDGET, .thinking_budget = 100000, .show_thinking = true},
     &two,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':24576,'includeThoughts':true}"},
    {"2.5 pro, more than it takes",
     {.thinking = THINKING_BUDGET, .thinking_budget = 100000},
     &two_pro,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':32768,'includeThoughts':false}"},
    {"2.5 pro, less than it takes",
     {.thinking = THINKING_BUDGET, .thinking_budget = 50},
     &two_pro,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':128,'includeThoughts':false}"},
    {"2.5, off, and no thoughts to show",
     {.thinking = THINKING_OFF, .show_thinking = true},
     &two,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':0,'includeThoughts':false}"},
    {"2.5, an effort",
     {.effort = EFFORT_MEDIUM},
     &two,
     NULL,
     THINKING_CONFIG,
     "{'thinkingBudget':8192,'includeThoughts':false}"},

    /* History. */
    {"a turn of its own goes back as it came",
     {0},
     &three,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[{'type':'thinking','thinking':"
     "'hm','signature':''},{'type':'text','text':'a','provider_data':{" ORIGIN
     ",'thoughtSignature':'S','trailingSignature':'T'}}," USE(
         "toolu_1", ORIGIN
         ",'id':'a1','"
         "thoughtSignature':"
         "'U'") "," USE("toolu_2", ORIGIN ",'id':'a2'") "]},{'role':'user','content':"
                                                        "[" RESULT("toolu_1") "," RESULT("to"
                                                                                         "ol"
                                                                                         "u_"
                                                                                         "2") "]}"
                                                                                              "]",
     "contents",
     "[{'role':'user','parts':[{'text':'go'}]},{'role':'model','parts':[{'text':'a',"
     "'thoughtSignature':'S'},{'text':'','thoughtSignature':'T'},{'functionCall':{'id':'a1','name':"
     "'Bash','args':{'a':1}},'thoughtSignature':'U'},{'functionCall':{'id':'a2','name':'Bash',"
     "'args':{'a':1}}}]},{'role':'user','parts':[{'functionResponse':{'id':'a1','name':'Bash',"
     "'response':{'output':'ok'}}},{'functionResponse':{'id':'a2','name':'Bash','response':{"
     "'output':'ok'}}}]}]"},
    {"calls of others get the literal, the first of them",
     {0},
     &three,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[" USE(
         "toolu_1",
         "'provider':'x','model':'y','id':'c','thoughtSignature':'no'") "," USE("toolu_2",
                                                                                "'provider':'x','"
                                                                                "model':'y'") "]}]",
     "contents.1.parts",
     "[{'functionCall':{'name':'Bash','args':{'a':1}},'thoughtSignature':"
     "'skip_thought_signature_validator'},{'functionCall':{'name':'Bash','args':{'a':1}}}]"},
    {"which older models do not need",
     {0},
     &two,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[" USE(
         "toolu_1", "'provider':'x','model':'y'") "]}]",
     "contents.1.parts",
     "[{'functionCall':{'name':'Bash','args':{'a':1}}}]"},
    {"a signed thought goes back, in its part",
     {0},
     &three,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[{'type':'thinking','thinking':"
     "'hm','signature':'','provider_data':{" ORIGIN ",'thoughtSignature':'S'}},{'type':'text',"
     "'text':'a'}]}]",
     "contents.1.parts",
     "[{'text':'hm','thought':true,'thoughtSignature':'S'},{'text':'a'}]"},
    {"parts of other kinds go back",
     {0},
     &three,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[{'type':'gemini_part','part':{"
     "'executableCode':{'code':'1'}},'provider_data':{" ORIGIN "}},{'type':'text','text':'a'}]}]",
     "contents.1.parts",
     "[{'executableCode':{'code':'1'}},{'text':'a'}]"},
    {"of other providers they do not",
     {0},
     &three,
     "[{'role':'user','content':'go'},{'role':'assistant','content':[{'type':'server_tool_use',"
     "'id':'s'},{'type':'text','text':'a'}]}]",
     "contents.1.parts",
     "[{'text':'a'}]"},
    {"errors, names and images",
     {0},
     &three,
     "[{'role':'assistant','content':[{'type':'tool_use','id':'toolu_1','name':'Read','input':{}}]}"
     ",{'role':'user','content':[{'type':'text','text':'note'},{'type':'tool_result','tool_use_id':"
     "'toolu_1','is_error':true,'content':[{'type':'text','text':'bad'},{'type':'image','source':{"
     "'type':'base64','media_type':'image/png','data':'QUJD'}}]}]},{'role':'user','content':[{"
     "'type':'image','source':{'type':'url','url':'https://x/y.png'}}]}]",
     "contents",
     "[{'role':'user','parts':[{'text':'Continue.'}]},{'role':'model','parts':[{'functionCall':{'"
     "name'"
     ":'Read','args':{}},'thoughtSignature':'skip_thought_signature_validator'}]},{'role':'user',"
     "'parts':[{'functionResponse':{'name':'Read','response':{'error':'bad'}}},{'inlineData':{"
     "'mimeType':'image/png','data':'QUJD'}},{'text':'note'},{'fileData':{'mimeType':'image/png',"
     "'fileUri':'https://x/y.png'}}]}]"},
    {"no eyes",
     {0},
     &two,
     "[{'role':'user','content':[{'type':'image','source':{'type':'base64','media_type':"
     "'image/png','data':'QUJD'}}]}]",
     "contents.0.parts",
     "[{'text':'[image left out: models/gemini-2.5-flash takes no images]'}]"},
    {"bad input has a stand-in",
     {0},
     &two,
     "[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'tool_use','id':'t',"
     "'name':'A','input':{},'input_text':'{oops'}]}]",
     "contents.1.parts.0.functionCall.args",
     "{'invalid_json':'{oops'}"},
};

static void test_streams(void **state)
{
    (void)state;
    dialect_check_streams(&dialect_gemini, &(struct llm_request){.model = &three}, streams,
                          ARRAY_LEN(streams), /*whole=*/false);
}

static void test_wholes(void **state)
{
    (void)state;
    dialect_check_streams(&dialect_gemini, &(struct llm_request){.model = &three}, wholes,
                          ARRAY_LEN(wholes), /*whole=*/true);
}

static void test_faults(void **state)
{
    (void)state;
    dialect_check_faults(&dialect_gemini, faults, ARRAY_LEN(faults));
}

static void test_bodies(void **state)
{
    (void)state;
    dialect_check_bodies(&dialect_gemini, bodies, ARRAY_LEN(bodies));
}

static void test_path(void **state)
{
    static const struct {
        const char *model;
        bool no_stream;
        const char *expect;
    } rows[] = {
        {"gemini-3-pro", false, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
        {"models/gemini-2.5-pro", true, "/v1beta/models/gemini-2.5-pro:generateContent"},
        {"a/b?c d", true, "/v1beta/models/a%2Fb%3Fc%20d:generateContent"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
        const struct model model = {.name = str_of(rows[i].model)};

        dialect_gemini.path(&(struct llm_request){.model = &model, .no_stream = rows[i].no_stream},
                            &path);
        assert_string_equal(buf_cstr(&path), rows[i].expect);
    }
}

static void test_headers(void **state)
{
    CLEANUP(strv_release) struct strv headers = STRV_INIT;
    const struct llm_request req = {.model = &three};

    (void)state;
    dialect_gemini.headers(&req, STR(""), false, &headers);
    assert_int_equal(headers.len, 0);
    dialect_gemini.headers(&req, STR("k"), false, &headers);
    dialect_gemini.headers(&req, STR("k"), true, &headers);
    assert_string_equal(headers.ptr[0], "x-goog-api-key: k");
    assert_string_equal(headers.ptr[1], "authorization: Bearer k");
}

static void test_generation(void **state)
{
    (void)state;
    assert_int_equal(gemini_generation(STR("gemini-2.5-pro")), 2);
    assert_int_equal(gemini_generation(STR("models/gemini-3.1-flash")), 3);
    assert_int_equal(gemini_generation(STR("gemini-flash-latest")), 3);
    assert_int_equal(gemini_generation(STR("gemini-10-pro")), 10);
    assert_int_equal(gemini_generation(STR("gemma-4")), 0);
    assert_int_equal(gemini_generation(STR("")), 0);
}

UNIT_TEST(provider_gemini)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),    cmocka_unit_test(test_wholes),
        cmocka_unit_test(test_faults),     cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_path),       cmocka_unit_test(test_headers),
        cmocka_unit_test(test_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
