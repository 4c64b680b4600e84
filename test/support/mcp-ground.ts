import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect } from "vitest";
import { setAlarm } from "../../src/compose/embedded.ts";
import type { Role, Scope } from "../../src/contract/scopes-and-roles.ts";
import { issueKey } from "../../src/service/issue-key.ts";
import { makeProject } from "../../src/service/write-project.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { deleteKey } from "../../src/store/keys.ts";
import { updateProject, type ProjectSettings } from "../../src/store/projects.ts";
import { openStore } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { createUsedFolder, startServe, untilSeen, type Serving } from "./command.ts";

/** The built command serving a data folder, and a hand on its store beside it. */
export type Ground = {
  readonly data: string;
  readonly serving: Serving;
  readonly addTenant: (wanted?: WantedTenant) => Promise<Tenant>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** A project of its own with one key. */
export type Tenant = {
  readonly key: string;
  readonly subdomain: string;
  /** What another process changes is seen after a moment; these wait for it. */
  readonly suspend: (isSuspended: boolean) => Promise<void>;
  readonly setRole: (role: Role) => Promise<void>;
  readonly revoke: () => Promise<void>;
};

type WantedTenant = Partial<ProjectSettings> & {
  readonly scopes?: readonly Scope[];
  readonly role?: Role;
};

export async function openGround(): Promise<Ground> {
  const folder = await createUsedFolder();
  const data = folder.path;
  const serving = await startServe(data);
  const file = join(data, "waypost.db");
  const sqlite = await openSqlite<Tables>(file, { applicationId: 0x57415950 });
  const store = await openStore(sqlite, setAlarm);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const maker = { clock, random: { bytes: (count: number) => randomBytes(count) } };
  let tenants = 0;

  const addTenant: Ground["addTenant"] = async (wanted = {}) => {
    const { scopes = [], role = "owner", ...settings } = wanted;
    tenants += 1;
    const subdomain = `tenant-${tenants}`;
    const fields = { name: `Tenant ${tenants}`, subdomain, custom_domain: null };
    const { project, key } = await store.write(async (db) => {
      const project = await makeProject(db, maker, fields, settings);
      const wantedKey = { project_id: project.id, scopes, role };
      return { project, key: await issueKey(db, maker, wantedKey) };
    });
    return {
      key: key.token,
      subdomain,
      suspend: async (suspended) => {
        await store.write((db) => updateProject(db, project.id, { suspended }, clock.now()));
        await untilSeen();
      },
      setRole: async (role) => {
        await store.write((db) =>
          db.updateTable("api_keys").set({ role }).where("id", "=", key.id).execute(),
        );
        await untilSeen();
      },
      revoke: async () => {
        await store.write((db) => deleteKey(db, key.id));
        await untilSeen();
      },
    };
  };

  return {
    data,
    serving,
    addTenant,
    [Symbol.asyncDispose]: async () => {
      await serving.stop("SIGKILL");
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Opens an approval's page and presses a button, as a browser would. */
export async function decideOnPage(url: string, decision: "approve" | "decline"): Promise<void> {
  const page = await (await fetch(url)).text();
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const fields = hidden.map(([, name = "", value = ""]): [string, string] => [name, value]);
  expect(fields.length).toBeGreaterThan(0);
  const response = await fetch(url, {
    method: "POST",
    headers: { origin: new URL(url).origin },
    body: new URLSearchParams([...fields, ["decision", decision]]),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}
