import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createBudgets } from "../../src/service/budgets.ts";
import { hashToken } from "../../src/service/keys.ts";
import type { WaitInQueue } from "../../src/template/check-queue.ts";
import { changeDraft } from "../../src/service/handlers/page-templates.ts";
import { findKey } from "../../src/store/keys.ts";
import { findTemplate, saveDraft } from "../../src/store/page-templates.ts";
import { createWorld, readLinkOrigin } from "../support/world.ts";
import { staying } from "../support/rows.ts";

/** Tests that a draft that changes during its check is checked again. */

const sound = { body: "<p>x</p>{% store_buttons %}", css: "a{top:0}" };

test.each([
  { given: { body: sound.body }, changed: { css: "a{behavior:url(x)}" } },
  { given: { css: sound.css }, changed: { body: "<script>x</script>" } },
])(
  "a template draft is checked again if $changed was saved during the check",
  async ({ given, changed }) => {
    await using world = await createWorld();
    const saved = await world.call("PATCH", "/page_template", { body: sound });
    expect(saved.status).toBe(201);
    const holder = await findKey(world.store.db, hashToken(world.key));
    const project = holder?.project;
    if (holder === undefined || !project) throw new Error("the key has gone");
    let looks = 0;
    const waitInQueue: WaitInQueue = async (_, work) => {
      const result = await work((piece) => Promise.resolve().then(piece));
      looks += 1;
      // A second write with different content finishes first.
      if (looks === 1) {
        await world.store.write((db) =>
          db
            .updateTable("page_templates")
            .set(changed)
            .where("project_id", "=", project.id)
            .execute(),
        );
      }
      return result;
    };
    const services = {
      store: world.store,
      clock: world.clock,
      random: { bytes: (count: number) => randomBytes(count) },
      readLinkOrigin,
      waitInQueue,
      budgets: createBudgets(world.clock),
    };
    const call = {
      services,
      caller: { ...holder, project },
      precondition: { tags: undefined, mustBeAbsent: false },
      isPatient: false,
      warn: () => undefined,
      via: undefined,
      signal: staying,
    };
    await expect(changeDraft(call, given, "save", saveDraft)).rejects.toMatchObject({
      status: 422,
    });
    const draft = await findTemplate({ db: world.store.db, projectId: project.id });
    expect(draft).toMatchObject({ ...sound, ...changed });
  },
);
