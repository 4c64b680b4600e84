import { access } from "./access.ts";
import { anything } from "./anything.ts";
import { apps } from "./apps.ts";
import { changing } from "./changing.ts";
import { onRemoteServer } from "./on-remote-server.ts";
import { firstDay } from "./first-day.ts";
import { finding } from "./finding.ts";
import { history } from "./history.ts";
import { making } from "./making.ts";
import { many } from "./many.ts";
import { naming } from "./naming.ts";
import { pages } from "./pages.ts";
import { rules } from "./rules.ts";
import { setup } from "./setup.ts";
import type { Task } from "./task.ts";

/** All tasks of the assistant. */

export const tasks: readonly Task[] = [
  finding,
  anything,
  naming,
  making,
  changing,
  many,
  rules,
  apps,
  pages,
  history,
  access,
  onRemoteServer,
  setup,
  firstDay,
].flat();
