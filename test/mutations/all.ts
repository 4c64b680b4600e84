import { access } from "./access.ts";
import { approval } from "./approval.ts";
import { between } from "./between.ts";
import { bulk } from "./bulk.ts";
import { files } from "./files.ts";
import { furtherRights } from "./further-rights.ts";
import { furtherWork } from "./further-work.ts";
import { host } from "./host.ts";
import { listening } from "./listening.ts";
import { lists } from "./lists.ts";
import type { Mutation } from "./mutation.ts";
import { paths } from "./paths.ts";
import { retry } from "./retry.ts";
import { stdio } from "./stdio.ts";
import { template } from "./template.ts";
import { tenancy } from "./tenancy.ts";
import { writes } from "./writes.ts";

export const mutations: readonly Mutation[] = [
  ...access,
  ...approval,
  ...between,
  ...tenancy,
  ...retry,
  ...bulk,
  ...paths,
  ...template,
  ...host,
  ...lists,
  ...listening,
  ...stdio,
  ...files,
  ...furtherRights,
  ...furtherWork,
  ...writes,
];
