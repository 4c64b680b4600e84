import { cp, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A copy of the checkout that mutations are tried in: the checkout itself is only ever read. */
export type Scratch = {
  readonly folder: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const root = join(import.meta.dirname, "../..");
const packages = "node_modules";
const leftOut: ReadonlySet<string> = new Set([".git", ".report", "dist", packages]);

export async function openScratch(): Promise<Scratch> {
  const folder = await mkdtemp(join(tmpdir(), "waypost-mutate-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    for (const name of await readdir(root)) {
      if (leftOut.has(name)) continue;
      await cp(join(root, name), join(folder, name), { recursive: true });
    }
    await linkPackages(folder);
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, [Symbol.asyncDispose]: remove };
}

/** One by one: what Vitest remembers of a run among them is the copy's own. */
async function linkPackages(folder: string): Promise<void> {
  await mkdir(join(folder, packages));
  for (const name of await readdir(join(root, packages))) {
    if (name.startsWith(".")) continue;
    await symlink(join(root, packages, name), join(folder, packages, name));
  }
}
