import type { TemplateSource } from "./page-input.ts";
import { starterStyle } from "./starter-style.ts";

/**
 * The template to begin with, and the page of a project that has none: one design, in what every
 * template may use.
 */
export const starter: TemplateSource = {
  body: `{% if platform == "ios" %}
  {% assign app = apps.ios.name %}
{% elsif platform == "android" %}
  {% assign app = apps.android.name %}
{% else %}
  {% assign app = apps.ios.name | default: apps.android.name %}
{% endif %}
{% assign app = app | default: project.name | strip %}
{% assign title = link.name | strip %}
{% assign scheme = link.social_image_url | slice: 0, 8 | downcase %}
<main class="page">
  <article class="card">
    <div class="about">
      {% if scheme == "https://" %}
      <div class="picture" role="img" aria-label="{{ title }}">
        <img class="picture-behind" src="{{ link.social_image_url }}" alt="">
        <img class="picture-front" src="{{ link.social_image_url }}" alt="">
      </div>
      {% else %}
      <div class="icon" aria-hidden="true">{{ app | slice: 0 | upcase }}</div>
      {% endif %}
      {% if app != title %}
      <p class="project" dir="auto">{{ app }}</p>
      {% endif %}
      <h1 class="title" dir="auto">{{ title }}</h1>
      {% if link.social_description %}
      <p class="description" dir="auto">{{ link.social_description | truncate: 220, "…" }}</p>
      {% endif %}
    </div>
    <div class="actions">{% store_buttons %}</div>
  </article>
  <footer class="address" dir="ltr">
    {{ link.address | remove_first: "https://" | remove_first: "http://" }}
  </footer>
</main>
`,
  css: starterStyle,
};
