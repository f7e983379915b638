"""The addresses of the cabinet's pages."""

from django.urls import path

from readback.cabinet import views

urlpatterns = [
    path("", views.landing, name="landing"),
]
