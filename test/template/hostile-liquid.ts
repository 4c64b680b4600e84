import { evil } from "./hostile-bodies.ts";

/**
 * Bodies that use Liquid to assemble something that is refused as a whole, or to reach internals.
 */

const buttons = "{% store_buttons %}";

const split = [
  "<{{ 'script' }}>alert(1)</{{ 'script' }}>",
  "<scr{{ '' }}ipt>alert(1)</scr{{ '' }}ipt>",
  "<scr{% if true %}ipt{% endif %}>alert(1)</script>",
  "{% assign s = '<script>alert(1)</script>' %}{{ s }}",
  "{% assign s = '<script>alert(1)</script>' %}{{ s | escape }}",
  "{% assign s = '<script>alert(1)</script>' %}{{ s | raw }}",
  "{{ '<img src=x onerror=alert(1)>' | strip }}",
  "<img src=x {{ 'onerror=alert(1)' }}>",
  "<img src=x one{{ 'rror' }}=alert(1)>",
  "<img src=x {% if true %}onerror{% endif %}=alert(1)>",
  "<p title={{ 'x onmouseover=alert(1)' }}>x</p>",
  "<p title={{ link.social_title }}>x</p>",
  '<p title="{{ link.social_title }}">x</p>',
  "<p title='{{ link.social_title }}'>x</p>",
  '<a href="{{ link.url }}">x</a>',
  "<a href={{ link.url }}>x</a>",
  "<a href=\"java{{ 'script' }}:alert(1)\">x</a>",
  "<a href=\"{{ 'javascript:alert(1)' }}\">x</a>",
  "<a href=\"{{ 'java' }}{{ 'script:alert(1)' }}\">x</a>",
  '<a href="{% if true %}javascript{% endif %}:alert(1)">x</a>',
  "<a href=\"{{ link.name | default: 'javascript:' }}alert(1)\">x</a>",
  '<a {% if platform == "ios" %}href="https://x.example"' +
    '{% else %}href="javascript:alert(1)"{% endif %}>x</a>',
  '<a {% if platform == "x" %}href="https://x.example"{% endif %} href="javascript:alert(1)">x</a>',
  '<img src="{{ link.social_image_url | replace: "https", "javascript" }}">',
  `<img src="{{ 'http://evil.example/a.png' }}">`,
  "<{% if true %}{% endif %}script>alert(1)</script>",
  "<!-- {% if true %} --><script>alert(1)</script><!-- {% endif %} -->",
  '<p title="{% comment %}"{% endcomment %}"><img src=x onerror=alert(1)>">x</p>',
  "{% comment %}<!--{% endcomment %}<img src=x onerror=alert(1)>{% comment %}-->{% endcomment %}",
  '<a title="{% store_buttons %}" href="#">x</a>',
  "<style>{% store_buttons %}</style>",
  "<textarea>{% store_buttons %}</textarea><img src=x onerror=alert(1)>",
  '\ufdd0<p title="\ufdd0">x</p>',
  '\udc00<p title="\udc00&#xdc00;">x</p>&#xdc00;',
  `<st{{ "yle" }}>@import "${evil}/a.css"</style>`,
  `<li{{ "nk" }} rel=stylesheet href=${evil}/a.css>`,
  `<meta http-equiv={{ "refresh" }} content="0;url=${evil}">`,
];

const reaching = [
  "{% include 'x' %}",
  "{% include '/etc/passwd' %}",
  "{% render '../../../../etc/passwd' %}",
  "{% layout '/etc/passwd' %}",
  "{% block x %}x{% endblock %}",
  "{% raw %}{{ x }}{% endraw %}",
  "{% liquid\necho 'x' %}",
  "{% echo '<script>alert(1)</script>' %}",
  "{% tablerow i in (1..3) %}x{% endtablerow %}",
  "{% capture x %}<script>alert(1)</script>{% endcapture %}{{ x }}",
  "{% cycle 'a', 'b' %}",
  "{% increment x %}",
  "{{ link.constructor }}",
  "{{ link.constructor.constructor }}",
  "{{ link['constructor']['constructor'] }}",
  "{{ link.__proto__.polluted }}",
  "{% assign __proto__ = link %}{{ polluted }}",
  "{% assign constructor = 'x' %}{{ link.name }}",
  "{{ platform.constructor.constructor }}",
  "{{ apps.ios.team_id }}",
  "{{ apps.ios.custom_scheme }}",
  "{{ project.id }}",
  "{{ process.env }}",
  "{{ globalThis }}",
  "{{ this }}",
  "{{ link | json }}",
  "{{ link | inspect }}",
  "{{ link.name | where_exp: 'x', 'x.constructor' }}",
  "{{ link.name | map: 'constructor' }}",
  "{{ link.name | find_exp: 'x', 'process.exit()' }}",
  "{{ 'now' | date: '%s' }}",
  "{{ link.name | raw }}",
  "{{ link }}{{ apps }}{{ project }}",
  "{% for pair in link %}{{ pair }}{{ pair[0] }}{% endfor %}",
];

export const hostileLiquid: readonly string[] = [...split, ...reaching].map(
  (body) => `<main>${body}${buttons}</main>`,
);
