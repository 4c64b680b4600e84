import { messages } from "../../contract/messages.ts";
import { notFound } from "../../contract/problem.ts";
import type { Project, projects } from "../../contract/projects.ts";
import { deleteProject, findProject, listProjects } from "../../store/projects.ts";
import type { Db } from "../../store/tables.ts";
import { requireCondition, type GroupHandlers } from "../handler.ts";
import { changeProject, makeProject } from "../write-project.ts";

/** Handles calls for projects, which need a master key. */
export const projectHandlers: GroupHandlers<typeof projects> = {
  index: async ({ services, list }) => {
    const { items, meta } = await listProjects(services.store.db, list);
    return { body: { projects: items.map(present), meta } };
  },

  create: async ({ services, body, signal }) => {
    const linkOrigins = [services.readLinkOrigin()];
    const work = (db: Db) => makeProject(db, services, body, { linkOrigins });
    return { body: present(await services.store.write(work, { signal })) };
  },

  show: async ({ services, params }) => ({
    body: present(await find(services.store.db, params.id)),
  }),

  update: async ({ services, params, body, precondition, signal }) => {
    const work = async (db: Db) => {
      const before = await find(db, params.id);
      requireCondition(precondition, present(before));
      return changeProject(db, services, before, body);
    };
    return { body: present(await services.store.write(work, { signal })) };
  },

  destroy: async ({ services, params, precondition, signal }) => {
    const work = async (db: Db) => {
      requireCondition(precondition, present(await find(db, params.id)));
      await deleteProject(db, params.id);
    };
    await services.store.write(work, { signal });
    return { body: null };
  },
};

async function find(db: Db, id: string) {
  const project = await findProject(db, id);
  if (project === undefined) throw notFound(messages.project_not_found);
  return project;
}

/** Omits settings that only the operator may see. */
function present(project: Project): Project {
  const { id, name, subdomain, custom_domain, custom_domain_verified, links_count } = project;
  return { id, name, subdomain, custom_domain, custom_domain_verified, links_count };
}
