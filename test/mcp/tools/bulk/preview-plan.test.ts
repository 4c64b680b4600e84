import { describe, expect, test } from "vitest";
import { sha256 } from "../../../contract/sample-link.ts";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** The approval preview of a plan shows the changes, with the most important facts first. */

let assistant: AssistantWorld;
const shown: string[] = [];

openForEach(
  () =>
    createAssistantWorld({
      elicit: (message) => {
        shown.push(message);
        return { action: "decline" };
      },
    }),
  async (opened) => {
    assistant = opened;
    shown.length = 0;
  },
);

const old = "https://shop.example/old";
const other = "https://evil.example/login";

async function plant(count: number): Promise<void> {
  for (const row of listPaths(count)) await assistant.plant("link", { ...row, url: old });
}

type ShownQuestion = {
  readonly text: string;
  readonly way: "form" | "page";
  readonly url?: string;
};

async function ask(args: object, key?: string): Promise<ShownQuestion> {
  const { callTool } = key === undefined ? assistant : await assistant.connect({ key });
  const { plan } = (await callTool("plan_links", { ...args })).structured;
  const before = shown.length;
  const { error } = (await callTool("apply_plan", { plan_id: plan.id })).structured;
  // After an instant answer the error contains the page's URL, because no user saw the form.
  if (shown.length > before) return { text: shown.at(-1) ?? "", way: "form" };
  expect(error.code).toBe("approval_required");
  return { text: error.approval.preview, way: "page", url: error.approval.url };
}

const listPaths = (count: number) =>
  Array.from({ length: count }, (_, row) => ({ path: `p${row}` }));

/** Asks to update links. The first 20 keep their host, and the others get another host. */
async function askUpdates(count: number) {
  await plant(count);
  const rows = listPaths(count).map((row, index) => {
    return { ...row, url: index < 20 ? `${old}er` : `${other}/${index}` };
  });
  return ask({ operation: "update", rows });
}

describe("the approval request for updates that change some hosts", () => {
  test("lists the new hosts first, and then all 45 rows", async () => {
    const { text, way } = await askUpdates(45);
    expect(text.split("\n").slice(0, 4)).toEqual([
      "Change 45 links",
      '- will redirect to "evil.example": 25 links',
      '- will redirect to "shop.example": 20 links',
      "- web address: gets different values on all 45 links",
    ]);
    for (const { path } of listPaths(45)) expect(text).toContain(`- change "${path}": `);
    expect(way).toBe("form");
  });

  test("uses the approval page if a form cannot show every row", async () => {
    const { text, way } = await askUpdates(61);
    expect(text).toContain("- and: 1 more link\n");
    expect(way).toBe("page");
  });
});

describe("the approval request for an identical change to many links", () => {
  test("describes the change once, and its page lists every link", async () => {
    await plant(70);
    const rows = listPaths(70).map((row) => ({ ...row, url: other }));
    const { text, way } = await ask({ operation: "update", rows });
    const [first, host, field] = text.split("\n");
    expect(first).toBe('Point 70 links to "evil.example/login"');
    expect(host).toBe('- will redirect to "evil.example": 70 links');
    expect(field).toBe(`- web address: becomes "${other}" on all 70 links`);
    expect(text.match(/evil\.example\/login/g)).toHaveLength(2);
    expect(text).toContain("10 more links, changed in the same way");
    expect(way).toBe("page");
    const few = listPaths(60).map((row) => ({ ...row, url: other }));
    expect((await ask({ operation: "update", rows: few })).way).toBe("form");
  });

  test("shows a look-alike host in punycode with a warning", async () => {
    await plant(1);
    const rows = [{ path: "p0", url: "https://ѕhop.example/" }];
    const { text } = await ask({ operation: "update", rows });
    const line = text.split("\n").find((each) => each.includes('redirect to "xn--'));
    expect(line).toContain('(displayed as "ѕhop.example") (warning: "ѕhop" in the host mixes ');
  });
});

describe("the approval request for a deletion", () => {
  test("shows the total of links and clicks first, then the most clicked links", async () => {
    await plant(61);
    const { store } = assistant.world;
    await store.write((db) =>
      db.updateTable("links").set({ clicks: 7 }).where("path", "=", "p60").execute(),
    );
    const { text, way } = await ask({ operation: "delete", rows: listPaths(61) });
    const [first, loss, row] = text.split("\n");
    expect(first).toBe("Delete 61 links");
    expect(loss).toBe("- kept in the bin for 30 days: 61 links with 7 clicks");
    expect(row).toBe('- delete "p60": 7 clicks');
    expect(way).toBe("page");
    expect((await ask({ operation: "delete", rows: listPaths(60) })).way).toBe("form");
  });
});

test("if a plan has many hosts, the approval request lists some and counts the rest", async () => {
  await plant(22);
  const rows = listPaths(22).map((row, at) => ({ ...row, url: `https://host${at}.example/` }));
  const { text } = await ask({ operation: "update", rows });
  expect(text).toContain("- will redirect to other hosts: 2 links to 2 hosts\n");
});

describe("the approval page of a long plan", () => {
  test("shows the most clicked links above the full list", async () => {
    await plant(130);
    const { store } = assistant.world;
    await store.write((db) =>
      db.updateTable("links").set({ clicks: 999_999 }).where("path", "=", "p129").execute(),
    );
    const { url } = await ask({ operation: "delete", rows: listPaths(130) });
    const { html } = await assistant.visit(url ?? "");
    const [above, list] = html.split("Links 1 to 25 of 130");
    expect(above).toContain("Most clicked");
    expect(above).toMatch(/>Delete<\/strong>\n<span [^>]*>&quot;p129&quot;<\/span>/);
    expect(above).toContain("999999 clicks");
    expect(above).not.toContain("&quot;p0&quot;");
    expect(list).not.toContain("&quot;p129&quot;");
    expect(html).not.toContain("more links");
  });
});

test("the approval preview of a long plan names the resource that lists all rows", async () => {
  await using asking = await createAssistantWorld();
  const rows = listPaths(150);
  const planted = await asking.callTool("plan_links", { operation: "upsert", rows });
  await asking.callTool("apply_plan", { plan_id: planted.structured.plan.id });
  const planned = await asking.callTool("plan_links", { operation: "delete", rows });
  const { id } = planned.structured.plan;
  const { error } = (await asking.callTool("apply_plan", { plan_id: id })).structured;
  const { preview } = error.approval;
  expect(preview).toContain("- and: 90 more links\n");
  const where = `- only a part is shown here; all rows: waypost://plans/${id}`;
  expect(preview.split("\n").at(-1)).toBe(where);
  expect((await asking.readResource(`waypost://plans/${id}`)).contents[0]?.text).toContain("p0");
});

describe("an app that a plan adds to or removes from links", () => {
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", name: "Shop" };

  async function askApp(key?: string) {
    const { id } = await assistant.plant("ios_app", ios_app);
    await assistant.plant("link", { path: "has", url: old, ios_app: { id } });
    await assistant.plant("link", { path: "gets", url: old });
    const rows = [
      { path: "has", ios_app: null },
      { path: "gets", ios_app: { id } },
    ];
    return { id, ...(await ask({ operation: "update", rows }, key)) };
  }

  test("is shown by its name in the approval request", async () => {
    const { id, text } = await askApp();
    expect(text).toContain('- change "has": 0 clicks; iOS app: "Shop" ("com.example.shop") →');
    expect(text).toContain('- change "gets": 0 clicks; iOS app: none → "Shop" ("com.');
    expect(text).not.toContain(id);
    expect(text).not.toContain("{");
  });

  test("is shown by its name even if the rows contain its bundle ID", async () => {
    await assistant.plant("ios_app", ios_app);
    for (const path of ["one", "two"]) await assistant.plant("link", { path, url: old });
    const chosen = { bundle_id: "com.example.shop" };
    const rows = ["one", "two"].map((path) => ({ path, ios_app: chosen }));
    const { text } = await ask({ operation: "update", rows });
    expect(text).toContain('iOS app: becomes "Shop" ("com.example.shop") on all 2 links');
    expect(text).not.toContain("Bundle ID");
  });

  test("is shown as unreadable if the key may not read apps", async () => {
    const scopes = ["links.index", "links.show", "links.update"] as const;
    const { text, url } = await askApp(await assistant.world.addKey({ scopes }));
    const unread = "an app that this API key cannot read";
    expect(text).toContain(`iOS app: none → ${unread}`);
    const { html } = await assistant.visit(url ?? "");
    expect(html).toContain(unread);
    expect(html).not.toContain("ID: ");
  });
});

test("the approval page reads a plan's long texts from the plan and stores no copy", async () => {
  const texts = listPaths(60).map((row, index) => ({
    ...row,
    social_description: `${"x".repeat(6000)}${index} end`,
  }));
  await plant(60);
  await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 1 }).execute());
  const { text, url = "" } = await ask({ operation: "upsert", rows: texts });
  expect(text.length).toBeLessThan(15_000);
  const stored = await assistant.state.approvals.findPage(url.split("/").at(-1) ?? "");
  expect(stored?.preview.length).toBeLessThan(10_000);
  // The page links each row to its full text.
  let whole = "";
  for (const page of [1, 2, 3]) {
    const { html } = await assistant.visit(`${url}?page=${page}`);
    for (const [, row = ""] of html.matchAll(/<a href="(\?row=\d+)">Show this link in full/g)) {
      whole += (await assistant.visit(url + row)).html;
    }
  }
  for (const { social_description } of texts) expect(whole).toContain(social_description);
});

describe("a plan's new links", () => {
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
  const android_app = { package_name: "com.example.shop", fingerprints: [sha256] };

  test("are counted separately from changed links", async () => {
    await plant(2);
    const rows = [...listPaths(2), { path: "new" }].map((row) => ({ ...row, name: "Spring" }));
    const { text } = await ask({ operation: "upsert", rows });
    expect(text.split("\n")[0]).toBe("Create 1 link, change 2 (3 in all)");
  });

  test("need an approval that shows each app that they register", async () => {
    const rows = [{ path: "new", ios_app, android_app }];
    const { text } = await ask({ operation: "upsert", rows });
    expect(text).toContain('- registers the iOS app "com.example.shop": Team ID: "ABCDE12345"');
    expect(text).toContain(
      '- registers the Android app "com.example.shop": SHA-256 fingerprints: ',
    );
    expect(text.split("\n")[0]).toBe("Create 1 link, and register 2 apps");
    expect(text).toContain('- apple-app-site-association: + "app ABCDE12345.com.example.shop"');
    expect(text).toContain(`- assetlinks.json: + "com.example.shop ${sha256}"`);
  });

  test("are counted on the approval button, with the apps that they register", async () => {
    const key = await assistant.world.addKey({});
    const rows = [{ path: "new", ios_app }];
    const { url } = await ask({ operation: "upsert", rows }, key);
    const { html } = await assistant.visit(url ?? "");
    expect(html).toContain(">Create 1 link, and register 1 app</button>");
    expect(html).toContain("<dt>apple-app-site-association</dt>");
  });

  test("need no approval if they use an existing app", async () => {
    await assistant.plant("ios_app", ios_app);
    const { plan } = (
      await assistant.callTool("plan_links", {
        operation: "upsert",
        rows: [{ path: "new", ios_app }],
      })
    ).structured;
    const { job } = await assistant.call("apply_plan", { plan_id: plan.id });
    expect(job).toMatchObject({ state: "done", counts: { done: 1 } });
  });
});
