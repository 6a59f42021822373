"""Prints the values of the lines of XML that gsoap_client writes: gsoap_values.py < answers"""
import sys
from xml.etree import ElementTree


def flat(path, e):
    children = list(e)
    lists = all(c.tag.endswith("item") for c in children)
    for i, c in enumerate(children):
        flat("%s[%d]" % (path, i) if lists else path + "." + c.tag.split("}")[1], c)
    if not children and e.text:
        print(path + "=" + e.text)


sys.stdout.reconfigure(encoding="utf-8")
for n, line in enumerate(sys.stdin.buffer):
    answer = ElementTree.fromstring(line)
    flat("%d.%s" % (n, answer.tag.split("}")[1].removesuffix("Response")), answer[0])
