import { expect } from "vitest";
import { planAndApply } from "./many.ts";
import { openShop } from "./shop.ts";
import type { Assistant, Task } from "./task.ts";

/** Tasks about earlier changes, their authors and undoing them. */

const oneAct = "what is undone is the last act, which needs no name";
const sheet = "path,name\nautumn,Autumn\nwinter,Winter";
const importSheet = (assistant: Assistant) =>
  planAndApply(assistant, { operation: "upsert", csv: sheet });

export const history: readonly Task[] = [
  {
    sentence: "Rename summer to Beach. No, put back what you just did",
    start: openShop,
    earlier: ({ call }) => call("update_link", { id: "summer", name: "Beach" }),
    script: ({ call }) => call("undo"),
    check: async ({ find }) =>
      expect(await find("summer")).toMatchObject({ name: "Summer launch" }),
    least: 1,
    because: oneAct,
  },
  {
    sentence: `Import the sheet below. No, undo the import\n${sheet}`,
    start: openShop,
    earlier: importSheet,
    script: async ({ call }) => {
      const { plan } = await call("undo");
      return (await call("apply_plan", { plan_id: plan.id })).job;
    },
    check: async ({ paths, told }) => {
      expect(told.state).toBe("done");
      expect(await paths()).not.toContain("autumn");
      expect(await paths()).toHaveLength(9);
    },
    least: 2,
    because: "many links are shown before they are deleted again",
  },
  {
    sentence: "Who changed the summer link to Beach?",
    start: openShop,
    colleague: ({ call }) => call("update_link", { id: "summer", name: "Beach" }),
    script: async ({ call }) => (await call("list_changes", { target: "summer" })).changes[0],
    check: ({ told }) => {
      expect(told).toMatchObject({ tool: "update_link", by: "another key" });
      expect(told.fields.name).toEqual({ from: "Summer launch", to: "Beach" });
    },
    least: 1,
    because: "one list answers it",
    onSpecified: {
      check: ({ told }) => {
        expect(told).toMatchObject({ tool: "update_link" });
        expect(told.fields.name).toEqual({ from: "Summer launch", to: "Beach" });
      },
      because: "on other servers, only changes of the same key are shown",
    },
  },
  {
    sentence: "Name promo Offer and help Support. What did you change today?",
    start: openShop,
    earlier: async ({ call }) => {
      await call("update_link", { id: "promo", name: "Offer" });
      await call("update_link", { id: "help", name: "Support" });
    },
    script: async ({ call }) => (await call("list_changes")).changes,
    check: ({ told }) => expect(told).toHaveLength(2),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "Someone deleted the help link. Bring it back",
    start: openShop,
    colleague: ({ call }) => call("delete_link", { id: "help" }),
    script: async ({ call }) => {
      const [{ id }] = (await call("list_changes", { target: "help" })).changes;
      return call("undo", { change_id: id });
    },
    check: async ({ find }) =>
      expect(await find("help")).toMatchObject({ name: "Help", clicks: 5 }),
    least: 2,
    because: "the deletion is found, and put back",
    onSpecified: {
      check: async ({ find }) =>
        expect(await find("help")).toMatchObject({
          name: "Help",
          url: "https://www.acme.example/help",
          clicks: 0,
        }),
      because: "without a bin, the link is created again",
    },
    onAltering: {
      check: async ({ told, find }) => {
        expect(told.error).toMatchObject({ code: "invalid_arguments", effect: "none" });
        expect(await find("help")).toBeUndefined();
      },
      because: "an absent field is unknown, so the link cannot be created as it was",
    },
  },
  {
    sentence: "Publish <p>Hello</p>{% store_buttons %} as our page. Stop, take the page back",
    start: openShop,
    earlier: ({ call }) => call("publish_template", { body: "<p>Hello</p>{% store_buttons %}" }),
    script: ({ call }) => call("undo"),
    check: async ({ api }) => {
      const { body } = await api("PATCH", "/page_template", {});
      expect(body.live_version ?? null).toBeNull();
    },
    least: 1,
    because: oneAct,
  },
];
