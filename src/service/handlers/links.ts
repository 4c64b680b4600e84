import { andThen } from "../../contract/waiting.ts";
import type { browserPaths } from "../../contract/own-endpoints.ts";
import { links } from "../../contract/links.ts";
import { messages } from "../../contract/messages.ts";
import { badRequest, notFound } from "../../contract/problem.ts";
import { normalizePath } from "../../contract/rules/link-path.ts";
import { isBlank } from "../../contract/text.ts";
import { listBrowserPaths } from "../../store/apps.ts";
import { listLinks } from "../../store/link-lists.ts";
import { deleteLink, findLink } from "../../store/links.ts";
import { findLinkAtPath, waitForClicksAt, readSearched } from "../find-link.ts";
import {
  waitForClicks,
  readTenant,
  writeTenant,
  requireCondition,
  type GroupHandlers,
} from "../handler.ts";
import { requireScope } from "../keys.ts";
import { restoreDeletedLink, changeLink, createLink } from "../write-link.ts";

/** Handles calls for links. */
export const linkHandlers: GroupHandlers<typeof links> = {
  index: async (call) => {
    await waitForClicks(call);
    const { applied, filters } = call.list;
    const query = {
      ...call.list,
      filters: [...filters, ...readSearched(call)],
      // Only the console accepts a capped count. All other callers get the exact number.
      count_to: call.via === "console" ? call.list.count_to : undefined,
    };
    const { items, meta } = await listLinks(
      readTenant(call),
      call.services.store,
      query,
      call.signal,
    );
    // `applied` confirms that the `f[…]` filters were applied. Other servers ignore such filters.
    const shown = applied.length === 0 ? meta : { ...meta, applied };
    return { body: { links: [...items], meta: shown } };
  },

  create: async (call) => ({
    body: await writeTenant(call, (tenant) => createLink(tenant, call, call.body)),
  }),

  upsert: async (call) => {
    const { path: given } = call.body;
    // A path of the wrong type has already been removed. The other fields are still checked.
    const path = typeof given === "string" ? normalizePath(given) : undefined;
    await waitForClicksAt(call, path);
    return writeTenant(call, async (tenant) => {
      if (path !== undefined && isBlank(path)) {
        throw badRequest(messages.parameter_missing("path"));
      }
      const known = await findLinkAtPath(tenant, path);
      // A link found by its short path is not updated. Creating a link at that path then fails.
      const isThere = known !== undefined && known.path === path;
      requireCondition(call.precondition, ...(isThere ? [known] : []));
      if (!isThere) {
        return { status: 201, body: await createLink(tenant, call, call.body) };
      }
      requireScope(call.caller, links.upsert.overwrite_scope);
      return { body: await changeLink(tenant, call, known, call.body) };
    });
  },

  show: (call) => {
    const { id } = call.params;
    const found = andThen(waitForClicks(call, id), () => findLink(readTenant(call), id));
    return andThen(found, (link) => {
      if (link === undefined) throw notFound(messages.link_not_found);
      return { body: link };
    });
  },

  update: async (call) => {
    await waitForClicks(call, call.params.id);
    const body = await writeTenant(call, async (tenant) => {
      const before = await findLink(tenant, call.params.id);
      if (before === undefined) throw notFound(messages.link_not_found);
      requireCondition(call.precondition, before);
      return changeLink(tenant, call, before, call.body);
    });
    return { body };
  },

  destroy: async (call) => {
    await writeTenant(call, async (tenant) => {
      const before = await findLink(tenant, call.params.id);
      if (before === undefined) throw notFound(messages.link_not_found);
      requireCondition(call.precondition, before);
      await deleteLink(tenant, before.id, call.services.clock.now());
    });
    return { body: null };
  },

  restore: async (call) => {
    const { id } = call.params;
    await waitForClicks(call, id);
    const body = await writeTenant(call, async (tenant) => {
      const now = call.services.clock.now();
      const restored = await restoreDeletedLink(tenant, call.caller.project, id, now);
      if (restored !== undefined) return restored;
      // An earlier call may have restored the link, but its response was lost.
      const there = await findLink(tenant, id);
      if (there === undefined) throw notFound(messages.link_not_found);
      requireScope(call.caller, links.show.scope);
      return there;
    });
    return { body };
  },
};

export const browserPathHandlers: GroupHandlers<typeof browserPaths> = {
  index: async (call) => {
    const { paths, areAll } = await listBrowserPaths(readTenant(call));
    return { body: { browser_paths: { paths: [...paths], are_all: areAll } } };
  },
};
