import { expect } from "vitest";
import { openShop } from "./shop.ts";
import type { Place, Task } from "./task.ts";

/** Tasks about the page that visitors of a link see. */

const one = "<p>One</p>{% store_buttons %}";
const two = "<p>Two</p>{% store_buttons %}";

/** Two versions were published, and the second one is live. */
async function publishTwo(place: Place): Promise<void> {
  await openShop(place);
  for (const body of [one, two]) await place.api("POST", "/page_template/publish", { body });
}

export const pages: readonly Task[] = [
  {
    sentence: `Save this as a draft of our page: ${one}`,
    start: openShop,
    script: ({ call }) => call("save_template", { body: one }),
    check: async ({ api }) => {
      const { body } = await api("PATCH", "/page_template", {});
      expect(body).toMatchObject({ body: one, live_version: null });
    },
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: `Our page is ${two} from now on`,
    start: openShop,
    script: ({ call }) => call("publish_template", { body: two }),
    check: async ({ api, asked }) => {
      const { body } = await api("PATCH", "/page_template", {});
      expect(body.live_version).toMatchObject({ body: two });
      expect(asked).toHaveLength(1);
    },
    least: 1,
    because: "the form that asks is a part of the call",
  },
  {
    sentence: "Give visitors the default page back",
    start: publishTwo,
    script: ({ call }) => call("unpublish_template"),
    check: async ({ api }) => {
      const { body } = await api("PATCH", "/page_template", {});
      expect(body.live_version).toBeNull();
    },
    least: 1,
    because: "the form that asks is a part of the call",
  },
  {
    sentence: "Which versions of our page were published?",
    start: publishTwo,
    script: async ({ call }) => (await call("list_template_versions")).versions,
    check: ({ told }) => expect(told).toMatchObject([{ live: true }, {}]),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "What did the page before this one look like?",
    start: publishTwo,
    script: async ({ call }) => {
      const { versions } = await call("list_template_versions");
      return (await call("get_template_version", { id: versions[1].id })).version.body;
    },
    check: ({ told }) => expect(told).toBe(one),
    least: 2,
    because: "the version is found, and read",
  },
  {
    sentence: "Go back to the page that we had before this one",
    start: publishTwo,
    script: async ({ call }) => {
      const { versions } = await call("list_template_versions");
      const [, { id }] = versions;
      const { error } = await call("restore_template_version", { id });
      const { version } = error === undefined ? {} : await call("get_template_version", { id });
      await call("publish_template", version && { body: version.body, css: version.css });
    },
    check: async ({ api }) => {
      const { body } = await api("PATCH", "/page_template", {});
      expect(body.live_version).toMatchObject({ body: one });
    },
    least: 3,
    because: "the version is found, made the draft, and shown to all once a person has seen it",
    onSpecified: { more: 1, because: "no path is specified for restoring, so the text is read" },
  },
  {
    sentence: `How would the spring link look with ${one}?`,
    start: openShop,
    script: ({ call }) => call("preview_template", { body: one, link_id: "spring" }),
    // Without a listening process, the page itself is returned.
    check: ({ told }) => expect(told.preview_url ?? told.html).toMatch(/\/preview\/[\w-]{22}$|One/),
    least: 1,
    because: "a link is named as people name it, and a person sees the page",
    onSpecified: {
      check: ({ told }) => expect(told.error).toMatchObject({ code: "not_found", effect: "none" }),
      because: "no path is specified for previews",
    },
  },
  {
    sentence: "Give our page a #0a7d33 background and show it to everybody",
    start: openShop,
    script: ({ call }) => call("publish_template", { css: "main { background: #0a7d33 }" }),
    check: async ({ api, asked }) => {
      const { body } = await api("PATCH", "/page_template", {});
      expect(body.live_version.css).toContain("#0a7d33");
      expect(asked.join()).toContain("#0a7d33");
    },
    least: 1,
    because: "the sentence has all of it, and the body is the starter's",
  },
  {
    sentence: "Our colour is #0a7d33. Is the page that people see now right for our brand?",
    start: publishTwo,
    script: async ({ call }) => (await call("get_template_version", { id: "live" })).version,
    check: ({ told }) => {
      expect(told).toMatchObject({ live: true, body: two });
      expect(told.css ?? "").not.toContain("#0a7d33");
    },
    least: 1,
    because: "what is live has a name",
  },
  {
    sentence: "What does the page look like that we start from?",
    start: openShop,
    script: ({ call }) => call("get_template_version", { id: "starter" }),
    check: ({ told }) => expect(told.version.body).toContain("store_buttons"),
    least: 1,
    because: "what there is at the start has a name",
    onSpecified: {
      check: ({ told }) => expect(told.error.message).toContain("of a remote server is unknown"),
      because: "no endpoint is specified for the starter",
    },
  },
];
