import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createIndex } from "../../src/store/trigram-index.ts";
import { plantLinks, type Seed } from "../support/planting.ts";
import { createWorld, type World } from "../support/world.ts";

/** What each filter and sort means (link-services.md §2), one example each. */

describe("what a filter means", () => {
  let world: World;
  /** By name; the links stand in the order of their creation, a day apart from 2026-01-16 on. */
  const garden: readonly Seed[] = [
    { name: "Spring", path: "spring/sale", clicks: 3, ios_app_bundle_id: "com.shop" },
    { name: "spring 50%", path: "Spring/half", clicks: 12, created_via: "console" },
    { name: "50 percent", path: "caf\u00e9", ios_app_bundle_id: "com.Shop" },
    { name: "a_b", path: "under_score", android_app_package_name: "com.shop" },
    { name: "axb", path: "x", isShortened: true },
    { name: "back\\slash", path: "backslash" },
    { name: `quo'te "d"`, path: "quoted" },
    { name: "ΟΔΟΣ", path: "street" },
    { name: "ÉTÉ", path: "summer" },
    { name: "T\u0308el", path: "capital" },
    { name: null, path: "nameless" },
  ];
  beforeAll(async () => {
    world = await createWorld();
    await plantLinks(world, garden);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const all = garden.map(({ name }) => name);
  const named = all.filter((name) => name !== null);
  const but = (...names: (string | null)[]) => all.filter((name) => !names.includes(name));

  test.each<[sentence: string, query: string, names: readonly (string | null)[]]>([
    ["eq is exact, case and all", "q[name_eq]=spring", []],
    ["eq finds the very text", "q[name_eq]=Spring", ["Spring"]],
    ["white space around a value is stripped", "q[name_eq]=%20Spring%09", ["Spring"]],
    ["a blank value drops the filter", "q[name_eq]=%20", all],
    ["a list of blanks drops the filter", "q[name_in][]=&q[name_in][]=%20", all],
    ["blanks in a list are dropped", "q[name_in][]=&q[name_in][]=axb", ["axb"]],
    ["in takes one plain value", "q[name_in]=axb", ["axb"]],
    ["in takes several values", "q[name_in][]=axb&q[name_in][]=a_b", ["a_b", "axb"]],
    ["in takes numbered values", "q[name_in][0]=axb&q[name_in][17]=a_b", ["a_b", "axb"]],
    ["in takes numbered and plain lists at once", "q[name_in][0]=axb&q[name_in][]=x", ["axb"]],
    ["in splits no commas", "q[name_in]=axb,a_b", []],
    ["not_eq leaves out what has no value", "q[name_not_eq]=axb", named.filter((n) => n !== "axb")],
    ["cont does not see case", "q[name_cont]=SPRI", ["Spring", "spring 50%"]],
    ["cont sees no case beyond ASCII", "q[name_cont]=%C3%A9t", ["ÉTÉ"]],
    ["cont knows both sigmas", "q[name_cont]=%CE%BF%CE%B4%CE%BF%CF%82", ["ΟΔΟΣ"]],
    ["cont finds a decomposed letter", "q[name_cont]=e%CC%81t", ["ÉTÉ"]],
    ["cont finds a capital without a composed form", "q[name_cont]=%E1%BA%97el", ["T\u0308el"]],
    ["% is a letter like any other", "q[name_cont]=0%25", ["spring 50%"]],
    ["_ is a letter like any other", "q[name_cont]=a_b", ["a_b"]],
    ["a backslash is a letter like any other", "q[name_cont]=k%5Cs", ["back\\slash"]],
    ["quotes are letters like any other", "q[name_cont]='te%20%22d", [`quo'te "d"`]],
    ["a NUL is in no name: eq", "q[name_eq]=axb%00x", []],
    ["a NUL is in no name: in", "q[name_in][]=axb%00", []],
    ["a NUL is in no name: not_eq", "q[name_not_eq]=axb%00", named],
    ["a NUL is in no name: cont", "q[name_cont]=b%00", []],
    ["a NUL is in no name: start", "q[name_start]=ax%00", []],
    ["a NUL is in no path, however it is written", "q[path_eq]=x%2500y", []],
    ["start does not see case", "q[name_start]=SPR", ["Spring", "spring 50%"]],
    ["start looks at the beginning alone", "q[name_start]=pring", []],
    ["% is no pattern in start", "q[name_start]=5%25", []],
    ["null=1 finds what has no value", "q[name_null]=1", [null]],
    ["null=0 negates", "q[name_null]=0", named],
    ["null with an odd word is dropped", "q[name_null]=yes", all],
    ["present=true finds what has a value", "q[name_present]=true", named],
    ["present=F negates", "q[name_present]=F", [null]],
    ["present with an odd word is dropped", "q[name_present]=2", all],
    ["a path is compared case and all", "q[path_eq]=spring/half", []],
    ["a path may carry its slash", "q[path_eq]=/Spring/half", ["spring 50%"]],
    ["a path may be percent-encoded", "q[path_eq]=caf%25C3%25A9", ["50 percent"]],
    ["start on a path does not see case", "q[path_start]=/SPRING/", ["Spring", "spring 50%"]],
    ["a link without a shortened path has none", "q[shortened_path_null]=0", ["axb"]],
    ["clicks are compared as numbers", "q[clicks_gt]=3", ["spring 50%"]],
    ["gteq has its own end in it", "q[clicks_gteq]=3", ["Spring", "spring 50%"]],
    ["lt leaves its own end out", "q[clicks_lt]=3", but("Spring", "spring 50%")],
    ["lteq has its own end in it", "q[clicks_lteq]=3", but("spring 50%")],
    ["a number ends where its digits end", "q[clicks_eq]=12x", ["spring 50%"]],
    ["a number may have underscores, as in Ruby", "q[clicks_eq]=1_2", ["spring 50%"]],
    ["no digits at all is 0", "q[clicks_eq]=many", but("Spring", "spring 50%")],
    [
      "a date is its midnight, so lteq leaves that day out",
      "q[created_at_lteq]=2026-01-17",
      all.slice(0, 1),
    ],
    ["gteq a date has that day in it", "q[created_at_gteq]=2026-01-25", all.slice(9)],
    ["a time is UTC without a zone", "q[created_at_eq]=2026-01-16%2012:00", ["Spring"]],
    ["a time may have a zone", "q[created_at_eq]=2026-01-16T14:00:00%2B02:00", ["Spring"]],
    ["what is no date is before nothing", "q[created_at_lt]=tomorrow", []],
    ["there is no 30th of February", "q[created_at_gt]=2026-02-30", []],
    ["everything differs from what is no date", "q[created_at_not_eq]=tomorrow", all],
    ["created_via filters", "q[created_via_eq]=console", ["spring 50%"]],
    ["a bundle id filters, case and all", "q[ios_app_bundle_id_eq]=com.shop", ["Spring"]],
    [
      "a bundle id not equal still means an app",
      "q[ios_app_bundle_id_not_eq]=com.shop",
      ["50 percent"],
    ],
    [
      "a link without the app has no bundle id",
      "q[ios_app_bundle_id_null]=f",
      ["Spring", "50 percent"],
    ],
    ["a package name filters", "q[android_app_package_name_cont]=SHOP", ["a_b"]],
    ["clicks contain digits as a text", "q[clicks_cont]=2", ["spring 50%"]],
    ["clicks begin with digits as a text", "q[clicks_start]=1", ["spring 50%"]],
    ["clicks contain no letter", "q[clicks_cont]=x", []],
    ["% is no pattern in a number", "q[clicks_cont]=%25", []],
    ["a time contains a text as it is printed", "q[created_at_cont]=-01-17T", ["spring 50%"]],
    ["a time contains its fraction and zone", "q[created_at_cont]=.000z", all],
    ["a time begins with a text", "q[created_at_start]=2026-01-1", all.slice(0, 4)],
    ["a time begins with its year", "q[created_at_start]=026", []],
    ["a NUL is in no time", "q[created_at_cont]=%00", []],
    ["or joins a text and a number", "q[name_or_clicks_start]=3", ["Spring"]],
    ["or joins fields", "q[name_or_path_cont]=half", ["spring 50%"]],
    ["and joins fields", "q[name_and_path_cont]=spring", ["Spring", "spring 50%"]],
    ["one unknown part drops the filter", "q[name_or_url_cont]=half", all],
    ["all filters must hold", "q[name_cont]=spring&q[clicks_gt]=3", ["spring 50%"]],
    ["an unknown field is ignored", "q[url_eq]=x&q[constructor_eq]=x&q[id_eq]=x", all],
    ["an unknown field that begins as a known one is ignored", "q[name_tag_eq]=x", all],
    ["an unknown field has no conditions", "q[url_like]=x&q[not_name]=x", all],
    ["m is no field", "q[m]=or&q[name_eq]=axb&q[clicks_eq]=12", []],
    ["q that is no hash is ignored", "q=axb&q[]=axb&q[name_eq][x]=axb", all],
    ["of a filter given twice the last counts", "q[name_eq]=axb&q[name_eq]=a_b", ["a_b"]],
  ])("%s", async (_, query, names) => {
    const reply = await world.call("GET", "/links", { query: `${query}&q[s]=created_at` });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.links.map((link: Seed) => link.name)).toEqual(names);
    expect(reply.body.meta.count).toBe(names.length);
  });

  const known = "eq, not_eq, in, gt, gteq, lt, lteq, null, present, cont, start";

  test.each([
    ["q[name_like]=x", "name_like", "name"],
    ["q[name_not_in][]=x", "name_not_in", "name"],
    ["q[name_eq_any][0]=x", "name_eq_any", "name"],
    ["q[name_i_cont]=x", "name_i_cont", "name"],
    ["q[name]=x", "name", "name"],
    ["q[url_or_path_matches]=x", "path_matches", "path"],
    ["q[created_at_after]=2026-01-01", "created_at_after", "created_at"],
    ["q[name_%00%22]=1", 'name_\\\\u{0}\\"', "name"],
  ])("a condition that a listed field has not is a 400: %s", async (query, filter, field) => {
    for (const path of ["/links", "/links.json"]) {
      const reply = await world.call("GET", path, { query });
      const error = `Unknown filter: ${filter}. ${field} takes the conditions ${known}.`;
      expect([reply.status, reply.body]).toEqual([400, { error }]);
    }
  });

  test.each([
    ["q[url_eq]=x", "url_eq"],
    ["q[name_or_url_cont]=x&q[name_eq]=y&q[id_eq]=z", "name_or_url_cont, id_eq"],
    ["q[name_null]=yes", "name_null"],
    ["q[s]=url+desc", "s"],
    ["q[s][]=name&q[s][]=colour", "s"],
    ["q=x&q[]=y&q[name_eq][x]=z&q[m]=or", "m, q, q[], q[name_eq][x]"],
    ["q[a%22%0d%0aset-cookie:%20b%c3%bc_eq]=x", 'a\\"??set-cookie: b?_eq'],
  ])("a filter that is ignored is told in a warning: %s", async (query, names) => {
    const reply = await world.call("GET", "/links", { query });
    const warning = `299 waypost "Ignored filters: ${names}."`;
    expect([reply.status, reply.headers.get("warning")]).toEqual([200, warning]);
    expect(reply.headers.get("set-cookie")).toBeNull();
  });

  test("what is understood or blank is not warned of, and projects take no filter", async () => {
    const query = "q[name_in][0]=x&q[name_or_path_cont]=y&q[url_eq]=&q[s]=name&limit=1&other=1";
    const reply = await world.call("GET", "/links", { query });
    expect([reply.status, reply.headers.get("warning")]).toEqual([200, null]);
    const given = { key: world.master, query: "q[name_eq]=x" };
    const { status, headers } = await world.call("GET", "/projects", given);
    expect(status).toBe(200);
    expect(headers.get("warning")).toBe('299 waypost "Ignored filters: name_eq."');
  });

  test.each<[sentence: string, sort: string, names: readonly (string | null)[]]>([
    ["up is the default", "q[s]=clicks", but("Spring", "spring 50%")],
    ["an unknown direction is up", "q[s]=created_at+downwards", all],
    ["a direction has no case", "q[s]=created_at+DESC", all.toReversed()],
    ["an unknown field is no key", "q[s][]=url&q[s][]=created_at", all],
    ["one text is one key", "q[s]=created_at+desc,+name+desc", all],
    ["several keys follow each other", "q[s][]=created_via&q[s][]=created_at", but("spring 50%")],
    ["nulls are last going up", "q[s]=name+asc&page=11&limit=1", [null]],
    ["nulls are first going down", "q[s]=name+desc", [null]],
    ["without a key the newest is first", "", all.toReversed()],
  ])("sorting: %s", async (_, sort, names) => {
    const reply = await world.call("GET", "/links", { query: sort });
    const found: (string | null)[] = reply.body.links.map((link: Seed) => link.name);
    // Links that are equal in the key stand in the order of their ids, which is that of creation.
    expect(found.slice(0, names.length)).toEqual(names);
  });

  test("with a trigram index a NUL and a quote are still letters that no name has", async () => {
    await world.store.write((db) => createIndex({ db, projectId: world.project.id }));
    await world.store.finishChores();
    for (const text of ["axb%00", "axb%00cd", "%00axb", 'axb"', '" OR name : "axb', "axb*"]) {
      const reply = await world.call("GET", "/links", { query: `q[name_cont]=${text}` });
      expect([text, reply.status, reply.body.links]).toEqual([text, 200, []]);
    }
    expect(world.reported).toEqual([]);
  });

  test("filters as long as an address may be are answered", async () => {
    const many = `q[${"name_or_".repeat(1900)}name_eq]=axb`;
    const long = `q[name_cont]=${"axb".repeat(5000)}`;
    const list = Array.from({ length: 700 }, (_, index) => `q[name_in][]=${index}`).join("&");
    const replies = [];
    for (const query of [many, long, list]) {
      replies.push(await world.call("GET", "/links", { query }));
    }
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(replies[0]?.body.meta.count).toBe(1);
    expect(world.reported).toEqual([]);
  });

  test("fifty filters are answered, and one more is refused", async () => {
    const conditions = ["eq", "not_eq", "cont", "start", "gt", "gteq", "lt", "lteq", "in"];
    const apps = ["ios_app_bundle_id", "android_app_package_name"];
    const fields = ["name", "path", "shortened_path", "created_via", ...apps];
    const names = fields.flatMap((field) => conditions.map((condition) => `${field}_${condition}`));
    const ask = async (count: number) => {
      const query = names.slice(0, count).map((name) => `q[${name}]=1`);
      return world.call("GET", "/links", { query: query.join("&") });
    };
    expect((await ask(50)).status).toBe(200);
    expect(await ask(51)).toMatchObject({
      status: 400,
      body: { error: "Too many filters: at most 50 in one request." },
    });
  });
});
