import { expect } from "vitest";
import { openShop } from "./shop.ts";
import type { Place, Result, Task } from "./task.ts";

/** Tasks that find and fix problems. */

async function openFaulty(place: Place): Promise<void> {
  await openShop(place);
  await place.plant({ path: "flyer", url: "http://www.acme.example/flyer" });
  await place.plant({ path: "also-flyer", url: "https://www.acme.example/flyer" });
  await place.plant({ path: "empty" });
  await place.plant({ path: "invisible", name: "Sp\u200Bring", url: "https://www.acme.example/" });
}

const listCodes = ({ audit }: Result): readonly string[] =>
  audit.groups.map(({ code }: Result) => code);

export const setup: readonly Task[] = [
  {
    sentence: "Is anything wrong with our setup?",
    start: openFaulty,
    script: async ({ call }) => listCodes(await call("audit_links")),
    check: ({ told }) => {
      const wanted = ["no_destination", "http_address", "hidden_characters"];
      expect(told).toEqual(expect.arrayContaining(wanted));
      expect(told[0]).toBe("no_destination");
    },
    least: 1,
    because: "one look at the whole project answers it",
    onAltering: {
      check: ({ told }) => {
        expect(told).toEqual(expect.arrayContaining(["http_address", "hidden_characters"]));
        expect(told).not.toContain("no_destination");
      },
      because: "an absent destination is unknown, so only the other fields are checked",
    },
  },
  {
    sentence: "Look for mistakes, and fix what you can fix by yourself",
    start: openFaulty,
    script: async ({ call }) => {
      const { audit } = await call("audit_links");
      const { fix } = audit.groups.find(({ code }: Result) => code === "hidden_characters");
      const { plan } = await call(fix.tool, fix.arguments);
      await call("apply_plan", { plan_id: plan.id });
    },
    check: async ({ find, asked }) => {
      expect(await find("invisible")).toMatchObject({ name: "Spring" });
      expect(asked).toHaveLength(1);
    },
    least: 3,
    because: "a look, the repair that comes with it shown, and done",
  },
  {
    sentence: "Are the spring links all right?",
    start: openFaulty,
    script: async ({ call }) => {
      const filters = [{ field: "name", condition: "cont", value: "spring" }];
      return (await call("audit_links", { filters })).audit;
    },
    check: ({ told }) => {
      expect(told.checked).toBe(3);
      expect(listCodes({ audit: told })).not.toContain("http_address");
    },
    least: 1,
    because: "one look at these links answers it",
  },
  {
    sentence: "Delete the links that are old and were never clicked",
    start: openFaulty,
    script: async ({ call }) => {
      const { audit } = await call("audit_links");
      const { filters } = audit.groups.find(({ code }: Result) => code === "never_clicked");
      const { plan } = await call("plan_links", { operation: "delete", filters });
      await call("apply_plan", { plan_id: plan.id });
    },
    check: async ({ paths }) => {
      expect(await paths()).toHaveLength(11);
      expect(await paths()).not.toContain("plans");
    },
    least: 3,
    because: "which are meant is looked up, shown, and done",
  },
  {
    sentence: "Look for http addresses among our links, and fix them",
    start: openFaulty,
    script: async ({ call }) => {
      const { audit } = await call("audit_links");
      const { fix } = audit.groups.find(({ code }: Result) => code === "http_address");
      const { plan } = await call(fix.tool, fix.arguments);
      await call("apply_plan", { plan_id: plan.id });
    },
    check: async ({ find }) =>
      expect(await find("flyer")).toMatchObject({ url: "https://www.acme.example/flyer" }),
    least: 3,
    because: "a look, the repair that comes with it shown, and done",
  },
];
