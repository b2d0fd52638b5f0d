/*
 * Facts about models: the rows of models.def, looked up by name.
 *
 * A wrong figure is worse than none. All of a row applies only to the model that it names; a
 * similar name gets the properties (how to talk to the model), but not the prices. Constant data
 * and arithmetic; any thread.
 */
#include "llm/model.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/nearest.h"
#include "json/json.h"
#include "llm/dialect/dialect.h"
#include "llm/event.h"

#define NA NAN
#define DEFAULT_OUTPUT 32000 /* requested first, if the limit allows it */

struct habit {
    enum model_thinking thinking;
    unsigned efforts;
    bool images;
    bool new_openai;
};

struct model_row {
    struct str provider;
    struct str name;
    struct str family;
    int habit;
    int64_t window, max_output;
    double input, output, cache_read, cache_write;
};

struct unlisted {
    struct str provider;
    int habit;
    int64_t window, max_output;
};

struct alias {
    struct str provider;
    struct str alias;
    struct str name;
};

/* models.def is included once per table; each inclusion keeps one kind of row. */
#define HABIT(name, thinking, efforts, images, new_openai)
#define MODEL(provider, name, family, habit, window, cap, input, output, read, write)
#define UNLISTED(provider, habit, window, cap)
#define ALIAS(provider, alias, name)

enum habit_id {
#undef HABIT
#define HABIT(name, thinking, efforts, images, new_openai) HABIT_##name,
#include "llm/models.def"
#undef HABIT
};

enum {
    NONE = 1 << EFFORT_NONE,
    MINIMAL = 1 << EFFORT_MINIMAL,
    LOW = 1 << EFFORT_LOW,
    MEDIUM = 1 << EFFORT_MEDIUM,
    HIGH = 1 << EFFORT_HIGH,
    XHIGH = 1 << EFFORT_XHIGH,
    MAX = 1 << EFFORT_MAX,
};

static const struct habit habits[] = {
#define HABIT(name, thinking, efforts, images, new_openai)                                         \
    [HABIT_##name] = {MODEL_THINKS_##thinking, efforts, images, new_openai},
#include "llm/models.def"
#undef HABIT
#define HABIT(name, thinking, efforts, images, new_openai)
};

static const struct model_row rows[] = {
#undef MODEL
#define MODEL(provider, name, family, habit, window, cap, input, output, read, write)              \
    {STR_INIT(#provider),                                                                          \
     STR_INIT(name),                                                                               \
     STR_INIT(family),                                                                             \
     HABIT_##habit,                                                                                \
     window,                                                                                       \
     cap,                                                                                          \
     input,                                                                                        \
     output,                                                                                       \
     read,                                                                                         \
     write},
#include "llm/models.def"
#undef MODEL
#define MODEL(provider, name, family, habit, window, cap, input, output, read, write)
};

static const struct unlisted unlisted[] = {
#undef UNLISTED
#define UNLISTED(provider, habit, window, cap) {STR_INIT(#provider), HABIT_##habit, window, cap},
#include "llm/models.def"
#undef UNLISTED
#define UNLISTED(provider, habit, window, cap)
};

static const struct alias aliases[] = {
#undef ALIAS
#define ALIAS(provider, alias, name) {STR_INIT(#provider), STR_INIT(alias), STR_INIT(name)},
#include "llm/models.def"
};

/* True for "-20250929" or "-2024-08-06". */
static bool is_date_suffix(struct str s)
{
    size_t digits = 0;

    if (!s.len || s.ptr[0] != '-')
        return false;
    for (size_t i = 1; i < s.len; i++) {
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
            digits++;
        else if (s.ptr[i] != '-' || s.len != 11)
            return false;
    }
    return digits == 8 && (s.len == 9 || (s.ptr[5] == '-' && s.ptr[8] == '-'));
}

/* The row that `name` is, or with loosely the longest one it begins with at a word boundary. */
static const struct model_row *row_find(struct str provider, struct str name, bool loosely)
{
    const struct model_row *best = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct model_row *row = &rows[i];
        struct str rest;

        if (!str_eq(row->provider, provider) || !str_starts(name, row->name))
            continue;
        rest = str_from(name, row->name.len);
        if (!rest.len)
            return row;
        if (!is_date_suffix(rest) && !(loosely && strchr("-:@", rest.ptr[0])))
            continue;
        if (!best || row->name.len > best->name.len)
            best = row;
    }
    return best;
}

/* Routers and gateways name a model by its maker ("google/gemini-2.5-pro", "anthropic/claude-…",
 * or the plain name): what it is like does not depend on the door. */
static const struct model_row *row_find_anywhere(struct str name)
{
    size_t slash = str_chr(name, '/');
    struct str plain = slash < name.len ? str_from(name, slash + 1) : name;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (i && str_eq(rows[i].provider, rows[i - 1].provider))
            continue;
        const struct model_row *row = row_find(rows[i].provider, plain, /*loosely=*/true);
        if (row)
            return row;
    }
    return NULL;
}

static void model_set_output(struct model *m, int64_t cap)
{
    m->max_output = cap;
    m->default_output = cap < DEFAULT_OUTPUT ? cap : DEFAULT_OUTPUT;
    m->long_output = m->max_output > m->default_output;
}

static void model_set_habit(struct model *m, const struct habit *h)
{
    m->thinking = h->thinking;
    m->efforts = h->efforts;
    m->images = h->images;
    m->system_is_developer = h->new_openai;
    m->max_completion_tokens = h->new_openai;
}

static void model_set_row(struct model *m, const struct model_row *row)
{
    m->family = row->family;
    m->window = row->window;
    model_set_output(m, row->max_output);
    model_set_habit(m, &habits[row->habit]);
}

static void model_set_prices(struct model *m, const struct model_row *row)
{
    m->price.input = row->input;
    m->price.output = row->output;
    m->price.cache_read = row->cache_read;
    m->price.cache_write = row->cache_write;
    if (str_is(row->provider, "anthropic"))
        m->price.cache_write_1h = 2 * row->input;
}

void model_find(struct str provider, struct str name, struct model *ret)
{
    const struct model_row *row = row_find(provider, name, /*loosely=*/false);

    *ret = (struct model){
        .provider = provider,
        .name = name,
        .family = name,
        .tools = true,
        .price = {NAN, NAN, NAN, NAN, NAN},
    };
    if (row) {
        ret->known = true;
        model_set_row(ret, row);
        model_set_prices(ret, row);
        return;
    }

    row = row_find(provider, name, /*loosely=*/true);
    if (!row)
        row = row_find_anywhere(name);
    if (row) {
        ret->like = row->name;
        model_set_row(ret, row);
        /* Only OpenAI's own servers certainly support OpenAI's newer parameters. */
        if (!str_eq(row->provider, provider)) {
            ret->system_is_developer = false;
            ret->max_completion_tokens = false;
        }
        return;
    }

    for (size_t i = 0; i < ARRAY_LEN(unlisted); i++) {
        const struct unlisted *u = &unlisted[i];

        if (str_eq(u->provider, provider) || str_is(u->provider, "any")) {
            ret->window = u->window;
            model_set_output(ret, u->max_output);
            model_set_habit(ret, &habits[u->habit]);
            return;
        }
    }
    BUG("models.def has no UNLISTED(any, …)");
}

struct str model_alias(struct str provider, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (str_eq(aliases[i].provider, provider) && str_eq(aliases[i].alias, name))
            return aliases[i].name;
    }
    return name;
}

bool model_alias_at(size_t i, struct str *ret_provider, struct str *ret_alias, struct str *ret_name)
{
    if (i >= ARRAY_LEN(aliases))
        return false;
    *ret_provider = aliases[i].provider;
    *ret_alias = aliases[i].alias;
    *ret_name = aliases[i].name;
    return true;
}

struct str model_default(struct str provider)
{
    struct str name = STR("default");
    struct str found = model_alias(provider, name);

    return str_eq(found, name) ? (struct str){0} : found;
}

/* "gpt" of "gpt-6-sol". */
static struct str make_of(struct str name)
{
    size_t n = 0;

    while (n < name.len && name.ptr[n] >= 'a' && name.ptr[n] <= 'z')
        n++;
    return str_first(name, n);
}

bool model_is_kin(struct str provider, struct str name)
{
    struct str make = make_of(name);

    for (size_t i = 0; make.len && i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].provider, provider) && str_eq(make_of(rows[i].name), make))
            return true;
    }
    return false;
}

bool model_is_listed(struct str provider, struct str name, bool loosely)
{
    return !str_eq(model_alias(provider, name), name) || row_find(provider, name, loosely);
}

void model_offer(struct str provider, struct nearest *near)
{
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (str_eq(aliases[i].provider, provider) && !str_is(aliases[i].alias, "default"))
            nearest_offer(near, aliases[i].alias);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eq(rows[i].provider, provider))
            nearest_offer(near, rows[i].name);
}

bool model_at(size_t i, struct model *ret)
{
    if (i >= ARRAY_LEN(rows))
        return false;
    model_find(rows[i].provider, rows[i].name, ret);
    return true;
}

/* Settings. Each reader leaves the value unchanged if the member is absent. */

static int bad_member(const struct model *m, const char *member, const char *wanted,
                      struct err *err)
{
    return err_set(err, ERR_BAD_INPUT, "settings: models.\"%.*s/%.*s\".%s must be %s",
                   STR_ARG(m->provider), STR_ARG(m->name), member, wanted);
}

static int read_tokens(const struct model *m, const struct json *entry, const char *member,
                       int64_t *ret, struct err *err)
{
    const struct json *v = json_get(entry, member);
    int64_t n;

    if (!v)
        return 0;
    if (!json_i64(v, &n) || n < 1 || n > 1000000000)
        return bad_member(m, member, "a number of tokens", err);
    *ret = n;
    return 0;
}

static int read_price(const struct model *m, const struct json *prices, const char *member,
                      double *ret, struct err *err)
{
    const struct json *v = json_get(prices, member);
    double usd;

    if (!v)
        return 0;
    if (!json_double(v, &usd) || !(usd >= 0) || usd > 1e6)
        return bad_member(m, "price", "US dollars per million tokens, in numbers", err);
    *ret = usd;
    return 0;
}

static int read_bool(const struct model *m, const struct json *entry, const char *member, bool *ret,
                     struct err *err)
{
    const struct json *v = json_get(entry, member);

    if (!v)
        return 0;
    if (!json_is(v, JSON_BOOL))
        return bad_member(m, member, "true or false", err);
    *ret = json_bool(v, false);
    return 0;
}

static int read_thinking(struct model *m, const struct json *entry, struct err *err)
{
    static const char *const names[] = {
        [MODEL_THINKS_NOT] = "none",          [MODEL_THINKS_BUDGET] = "budget",
        [MODEL_THINKS_ADAPTIVE] = "adaptive", [MODEL_THINKS_ALWAYS] = "always",
        [MODEL_THINKS_EFFORT] = "effort",
    };
    const struct json *v = json_get(entry, "thinking");
    const struct json *list = json_get(entry, "efforts");
    unsigned efforts = 0;

    if (v) {
        size_t i = 0;

        while (i < ARRAY_LEN(names) && !str_is(json_str(v), names[i]))
            i++;
        if (i == ARRAY_LEN(names))
            return bad_member(m, "thinking", "none, budget, adaptive, always or effort", err);
        m->thinking = (enum model_thinking)i;
    }
    if (!list)
        return 0;
    if (!json_is(list, JSON_ARRAY))
        return bad_member(m, "efforts", "a list of effort levels", err);
    JSON_EACH(list, it) {
        enum effort level;

        if (!effort_parse(json_str(it), &level) || level == EFFORT_UNSET)
            return bad_member(m, "efforts", "a list of effort levels", err);
        efforts |= 1u << level;
    }
    m->efforts = efforts;
    return 0;
}

int model_configure(struct model *m, const struct json *entry, struct err *err)
{
    struct model out = *m;
    const struct json *prices = json_get(entry, "price");
    int64_t cap = out.max_output;

    if (!entry)
        return 0;
    if (!json_is(entry, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "settings: models.\"%.*s/%.*s\" must be an object",
                       STR_ARG(m->provider), STR_ARG(m->name));
    if (prices && !json_is(prices, JSON_OBJECT))
        return bad_member(m, "price", "an object", err);
    if (read_tokens(m, entry, "window", &out.window, err) < 0 ||
        read_tokens(m, entry, "maxOutput", &cap, err) < 0 ||
        read_bool(m, entry, "images", &out.images, err) < 0 ||
        read_bool(m, entry, "tools", &out.tools, err) < 0 ||
        read_bool(m, entry, "developerRole", &out.system_is_developer, err) < 0 ||
        read_bool(m, entry, "maxCompletionTokens", &out.max_completion_tokens, err) < 0 ||
        read_thinking(&out, entry, err) < 0 ||
        read_price(m, prices, "input", &out.price.input, err) < 0 ||
        read_price(m, prices, "output", &out.price.output, err) < 0 ||
        read_price(m, prices, "cacheRead", &out.price.cache_read, err) < 0 ||
        read_price(m, prices, "cacheWrite", &out.price.cache_write, err) < 0 ||
        read_price(m, prices, "cacheWrite1h", &out.price.cache_write_1h, err) < 0)
        return -1;

    model_set_output(&out, cap);
    out.known = true;
    out.like = (struct str){0};
    *m = out;
    return 0;
}

bool model_price_known(const struct model *m)
{
    return !isnan(m->price.input) && !isnan(m->price.output);
}

/* Without a price for cached tokens, other input's price is used: writing costs a quarter more, and
 * twice as much for one hour, as for vendors that list it. */
static double model_price_or(double price, double instead)
{
    return isnan(price) ? instead : price;
}

int model_cost_usd(const struct model *m, const struct llm_usage *u, double *ret, struct err *err)
{
    double input = m->price.input;
    const struct {
        int64_t tokens;
        double price;
        const char *what;
    } parts[] = {
        {u->input, input, "input"},
        {u->output, m->price.output, "output"},
        {u->cache_read, model_price_or(m->price.cache_read, input), "cacheRead"},
        {u->cache_write - u->cache_write_1h, model_price_or(m->price.cache_write, input * 1.25),
         "cacheWrite"},
        {u->cache_write_1h, model_price_or(m->price.cache_write_1h, input * 2), "cacheWrite1h"},
    };
    double usd = 0;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].tokens <= 0)
            continue;
        if (isnan(parts[i].price))
            return err_set(err, ERR_UNSUPPORTED,
                           "the %s price of %.*s/%.*s is not known; it can be given in settings: "
                           "models.\"%.*s/%.*s\".price.%s",
                           parts[i].what, STR_ARG(m->provider), STR_ARG(m->name),
                           STR_ARG(m->provider), STR_ARG(m->name), parts[i].what);
        usd += (double)parts[i].tokens * parts[i].price / 1e6;
    }
    *ret = usd;
    return 0;
}
