import { describe, expect, test } from "vitest";
import { createIndex } from "../../src/store/trigram-index.ts";
import { plantLinks, type Seed } from "../support/planting.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForAll } from "../support/open-for.ts";

/** Tests each filter and sort order with an example. */

describe("GET /links with filters", () => {
  let world: World;
  /** Links in the order of their creation, which is one a day from 2026-01-16 on. */
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
  openForAll(createWorld, async (opened) => {
    world = opened;
    await plantLinks(world, garden);
  });

  const all = garden.map(({ name }) => name);
  const named = all.filter((name) => name !== null);
  const but = (...names: (string | null)[]) => all.filter((name) => !names.includes(name));

  test.each<[sentence: string, query: string, names: readonly (string | null)[]]>([
    ["eq is case-sensitive", "q[name_eq]=spring", []],
    ["eq finds the exact text", "q[name_eq]=Spring", ["Spring"]],
    ["white space around a value is stripped", "q[name_eq]=%20Spring%09", ["Spring"]],
    ["a filter with a blank value is ignored", "q[name_eq]=%20", all],
    ["a filter with only blank values is ignored", "q[name_in][]=&q[name_in][]=%20", all],
    ["blank values in a list are ignored", "q[name_in][]=&q[name_in][]=axb", ["axb"]],
    ["in accepts one plain value", "q[name_in]=axb", ["axb"]],
    ["in accepts several values", "q[name_in][]=axb&q[name_in][]=a_b", ["a_b", "axb"]],
    ["in accepts numbered values", "q[name_in][0]=axb&q[name_in][17]=a_b", ["a_b", "axb"]],
    ["in accepts both numbered and plain values", "q[name_in][0]=axb&q[name_in][]=x", ["axb"]],
    ["in does not split its value at commas", "q[name_in]=axb,a_b", []],
    ["not_eq omits links without a value", "q[name_not_eq]=axb", named.filter((n) => n !== "axb")],
    ["cont ignores case", "q[name_cont]=SPRI", ["Spring", "spring 50%"]],
    ["cont ignores case beyond ASCII", "q[name_cont]=%C3%A9t", ["ÉTÉ"]],
    ["cont treats both sigmas as equal", "q[name_cont]=%CE%BF%CE%B4%CE%BF%CF%82", ["ΟΔΟΣ"]],
    ["cont matches a decomposed letter", "q[name_cont]=e%CC%81t", ["ÉTÉ"]],
    ["cont matches a capital with no composed form", "q[name_cont]=%E1%BA%97el", ["T\u0308el"]],
    ["% is a plain character in cont", "q[name_cont]=0%25", ["spring 50%"]],
    ["_ is a plain character in cont", "q[name_cont]=a_b", ["a_b"]],
    ["a backslash is a plain character in cont", "q[name_cont]=k%5Cs", ["back\\slash"]],
    ["quotes are plain characters in cont", "q[name_cont]='te%20%22d", [`quo'te "d"`]],
    ["a NUL matches no name: eq", "q[name_eq]=axb%00x", []],
    ["a NUL matches no name: in", "q[name_in][]=axb%00", []],
    ["a NUL matches no name: not_eq", "q[name_not_eq]=axb%00", named],
    ["a NUL matches no name: cont", "q[name_cont]=b%00", []],
    ["a NUL matches no name: start", "q[name_start]=ax%00", []],
    ["an encoded NUL matches no path", "q[path_eq]=x%2500y", []],
    ["start ignores case", "q[name_start]=SPR", ["Spring", "spring 50%"]],
    ["start only matches the beginning", "q[name_start]=pring", []],
    ["% is a plain character in start", "q[name_start]=5%25", []],
    ["null=1 finds links without a value", "q[name_null]=1", [null]],
    ["null=0 finds links with a value", "q[name_null]=0", named],
    ["null with an unknown value is ignored", "q[name_null]=yes", all],
    ["present=true finds links with a value", "q[name_present]=true", named],
    ["present=F finds links without a value", "q[name_present]=F", [null]],
    ["present with an unknown value is ignored", "q[name_present]=2", all],
    ["eq on a path is case-sensitive", "q[path_eq]=spring/half", []],
    ["a path can begin with a slash", "q[path_eq]=/Spring/half", ["spring 50%"]],
    ["a path can be percent-encoded", "q[path_eq]=caf%25C3%25A9", ["50 percent"]],
    ["start on a path ignores case", "q[path_start]=/SPRING/", ["Spring", "spring 50%"]],
    ["null=0 finds links with a shortened path", "q[shortened_path_null]=0", ["axb"]],
    ["clicks are compared as numbers", "q[clicks_gt]=3", ["spring 50%"]],
    ["gteq includes the given value", "q[clicks_gteq]=3", ["Spring", "spring 50%"]],
    ["lt excludes the given value", "q[clicks_lt]=3", but("Spring", "spring 50%")],
    ["lteq includes the given value", "q[clicks_lteq]=3", but("spring 50%")],
    ["text after a number is ignored", "q[clicks_eq]=12x", ["spring 50%"]],
    ["a number can contain underscores, as in Ruby", "q[clicks_eq]=1_2", ["spring 50%"]],
    ["a value without digits counts as 0", "q[clicks_eq]=many", but("Spring", "spring 50%")],
    [
      "a date means its midnight, so lteq omits the rest of that day",
      "q[created_at_lteq]=2026-01-17",
      all.slice(0, 1),
    ],
    ["gteq with a date includes that day", "q[created_at_gteq]=2026-01-25", all.slice(9)],
    ["a time without a zone is UTC", "q[created_at_eq]=2026-01-16%2012:00", ["Spring"]],
    ["a time can have a zone", "q[created_at_eq]=2026-01-16T14:00:00%2B02:00", ["Spring"]],
    ["lt with an invalid date matches nothing", "q[created_at_lt]=tomorrow", []],
    ["February 30th is an invalid date", "q[created_at_gt]=2026-02-30", []],
    ["not_eq with an invalid date matches everything", "q[created_at_not_eq]=tomorrow", all],
    ["created_via can be filtered", "q[created_via_eq]=console", ["spring 50%"]],
    ["eq on a bundle ID is case-sensitive", "q[ios_app_bundle_id_eq]=com.shop", ["Spring"]],
    [
      "not_eq on a bundle ID omits links without an app",
      "q[ios_app_bundle_id_not_eq]=com.shop",
      ["50 percent"],
    ],
    [
      "null=f on a bundle ID omits links without an app",
      "q[ios_app_bundle_id_null]=f",
      ["Spring", "50 percent"],
    ],
    ["a package name can be filtered", "q[android_app_package_name_cont]=SHOP", ["a_b"]],
    ["cont on clicks compares digits as text", "q[clicks_cont]=2", ["spring 50%"]],
    ["start on clicks compares digits as text", "q[clicks_start]=1", ["spring 50%"]],
    ["cont on clicks with a letter matches nothing", "q[clicks_cont]=x", []],
    ["% is a plain character in a number", "q[clicks_cont]=%25", []],
    ["cont on a time matches the formatted time", "q[created_at_cont]=-01-17T", ["spring 50%"]],
    ["cont on a time matches its fraction and zone", "q[created_at_cont]=.000z", all],
    [
      "start on a time matches the formatted time",
      "q[created_at_start]=2026-01-1",
      all.slice(0, 4),
    ],
    ["start on a time only matches the beginning", "q[created_at_start]=026", []],
    ["a NUL matches no time", "q[created_at_cont]=%00", []],
    ["or combines a text field and a number field", "q[name_or_clicks_start]=3", ["Spring"]],
    ["or combines fields", "q[name_or_path_cont]=half", ["spring 50%"]],
    ["and combines fields", "q[name_and_path_cont]=spring", ["Spring", "spring 50%"]],
    ["a filter for two fields is ignored if one is unknown", "q[name_or_url_cont]=half", all],
    ["several filters must all match", "q[name_cont]=spring&q[clicks_gt]=3", ["spring 50%"]],
    ["an unknown field is ignored", "q[url_eq]=x&q[constructor_eq]=x&q[id_eq]=x", all],
    ["an unknown field with the prefix of a known one is ignored", "q[name_tag_eq]=x", all],
    ["an unknown field with an unknown condition is ignored", "q[url_like]=x&q[not_name]=x", all],
    ["the parameter m is ignored", "q[m]=or&q[name_eq]=axb&q[clicks_eq]=12", []],
    ["q without a field name is ignored", "q=axb&q[]=axb&q[name_eq][x]=axb", all],
    ["the second value of a repeated filter is used", "q[name_eq]=axb&q[name_eq]=a_b", ["a_b"]],
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
  ])("returns 400 for an unknown condition of a known field: %s", async (query, filter, field) => {
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
  ])("returns a Warning header that lists ignored filters: %s", async (query, names) => {
    const reply = await world.call("GET", "/links", { query });
    const warning = `299 waypost "Ignored filters: ${names}."`;
    expect([reply.status, reply.headers.get("warning")]).toEqual([200, warning]);
    expect(reply.headers.get("set-cookie")).toBeNull();
  });

  test("returns no Warning header for valid filters, unlike GET /projects", async () => {
    const query = "q[name_in][0]=x&q[name_or_path_cont]=y&q[url_eq]=&q[s]=name&limit=1&other=1";
    const reply = await world.call("GET", "/links", { query });
    expect([reply.status, reply.headers.get("warning")]).toEqual([200, null]);
    const given = { key: world.master, query: "q[name_eq]=x" };
    const { status, headers } = await world.call("GET", "/projects", given);
    expect(status).toBe(200);
    expect(headers.get("warning")).toBe('299 waypost "Ignored filters: name_eq."');
  });

  test.each<[sentence: string, sort: string, names: readonly (string | null)[]]>([
    ["ascending is the default", "q[s]=clicks", but("Spring", "spring 50%")],
    ["an unknown direction counts as ascending", "q[s]=created_at+downwards", all],
    ["the direction ignores case", "q[s]=created_at+DESC", all.toReversed()],
    ["an unknown field is ignored", "q[s][]=url&q[s][]=created_at", all],
    ["text after the first sort key is ignored", "q[s]=created_at+desc,+name+desc", all],
    ["several sort keys apply in order", "q[s][]=created_via&q[s][]=created_at", but("spring 50%")],
    ["nulls are last in ascending order", "q[s]=name+asc&page=11&limit=1", [null]],
    ["nulls are first in descending order", "q[s]=name+desc", [null]],
    ["without a sort key, the newest link is first", "", all.toReversed()],
  ])("sorting: %s", async (_, sort, names) => {
    const reply = await world.call("GET", "/links", { query: sort });
    const found: (string | null)[] = reply.body.links.map((link: Seed) => link.name);
    // Links with equal sort values are in the order of their creation.
    expect(found.slice(0, names.length)).toEqual(names);
  });

  test("takes NULs, quotes and operators literally when it uses the trigram index", async () => {
    await world.store.write((db) => createIndex({ db, projectId: world.project.id }));
    await world.store.finishTasks();
    for (const text of ["axb%00", "axb%00cd", "%00axb", 'axb"', '" OR name : "axb', "axb*"]) {
      const reply = await world.call("GET", "/links", { query: `q[name_cont]=${text}` });
      expect([text, reply.status, reply.body.links]).toEqual([text, 200, []]);
    }
    expect(world.reported).toEqual([]);
  });

  test("accepts filters up to the maximum length of a URL", async () => {
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

  test("accepts 50 filters, but returns 400 for 51 filters", async () => {
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
